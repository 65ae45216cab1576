"""factseek inside the libraries of others, one file each: an index asked as their users ask.

A module is named after its library and is imported by its users alone: nothing of factseek imports it, and importing it
imports the library. It offers::

    LIBRARY: str     the package that it needs, by the name that Python imports it by
    EXTRA: str       what installs it: pip install 'factseek[EXTRA]'

and whatever class or function the library asks for. It translates and does nothing else: it asks an
:class:`factseek.integrations._source.EvidenceSource`, a folder or a served index alike, and raises what its library
raises. A module of this shape, put into this folder, is an integration: nothing else names integrations. The command
line asks for one by itself, where a file is named ``irds:NAME``: :mod:`factseek.integrations._irds` reads that.
"""
