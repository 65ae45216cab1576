"""factseek inside other libraries: one module for each library, which searches an index as that
library expects.

A module has the name of its library. Importing the module imports the library, so no other module
of factseek imports the module. The module offers::

    LIBRARY: str     the package that it needs, by the name under which Python imports it
    EXTRA: str       the extra that installs it: pip install 'factseek[EXTRA]'

and the class or function that the library expects. The module only translates: it asks a folder or
a served index through :mod:`factseek.integrations._source`, and raises its library's errors. Any
module of this shape in this folder is an integration. If an argument of the command line is
``irds:NAME``, :mod:`factseek.integrations._stand_ins` reads that dataset.
"""
