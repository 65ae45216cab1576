"""Tables and pages that figures are shown in."""
