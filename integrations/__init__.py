"""factseek inside other libraries, one file each: their users ask an index in their library's way.

A module has the name of its library. Only its users import it: no other module of factseek does, and importing it
imports the library. It offers::

    LIBRARY: str     the package that it needs, by the name that Python imports it by
    EXTRA: str       the extra that installs it: pip install 'factseek[EXTRA]'

and the class or function that the library expects. The module only translates: it asks an
:class:`factseek.integrations._source.EvidenceSource`, which is a folder or a served index, and raises its library's
errors. Any module of this shape in this folder is an integration; no list names integrations. The command line uses one
by itself: if a file is named ``irds:NAME``, :mod:`factseek.integrations._irds` reads it.
"""
