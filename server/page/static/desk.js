// The page works without this script. With it, Enter sends the box, Shift+Enter begins a line, and a button copies a citation.
"use strict";

for (const box of document.querySelectorAll("textarea[data-enter]")) {
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      box.form.requestSubmit();
    }
  });
}

for (const button of document.querySelectorAll("button[data-copy]")) {
  const field = document.getElementById(button.dataset.copy);
  button.hidden = false;
  button.addEventListener("click", async () => {
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
    } catch {
      document.execCommand("copy"); // a page that is not served over HTTPS has no clipboard of its own
    }
    button.firstChild.data = button.dataset.copied;
  });
}

// A click into a citation selects all of it.
for (const field of document.querySelectorAll(".copy textarea")) {
  field.addEventListener("focus", () => field.select());
}
