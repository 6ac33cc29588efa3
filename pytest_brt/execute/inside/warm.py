"""Compiles what importing the project would. Runs in the subject: Python 3.8+.

No code of the project runs: what is written here is what all rows start from. Imports are read
from the compiled modules instead.
"""

import os
from importlib.machinery import PathFinder, SourceFileLoader
from modulefinder import ModuleFinder


def find(name, roots):
    """Return the loader of a module of the project, None where there is none."""
    spec, path, full = None, roots, ""
    for part in name.split("."):
        full = "%s.%s" % (full, part) if full else part
        spec = PathFinder.find_spec(full, path)
        if spec is None:
            return None
        path = spec.submodule_search_locations or []
    return spec.loader if isinstance(spec.loader, SourceFileLoader) else None


def imported(code, name, is_package):
    """Yield the names of what a module's top level imports, and of what may be modules in it."""
    for kind, found in ModuleFinder().scan_opcodes(code):
        if kind == "store":
            continue
        level = found[0] if kind == "relative_import" else 0
        names, target = found[-2], found[-1]
        if level:
            parts = name.split(".")
            up = level - (1 if is_package else 0)
            base = ".".join(parts[: len(parts) - up])
            target = ".".join(filter(None, (base, target)))
        yield target
        for inner in names or ():
            yield "%s.%s" % (target, inner)


def compile_all(names, roots):
    """Compile the modules of these names, and what they import of the project in turn."""
    seen = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        if name in seen or name.endswith("*"):
            continue
        seen.add(name)
        pending.append(name.rpartition(".")[0] or name)
        loader = find(name, roots)
        if loader is None:
            continue
        try:
            code = loader.get_code(name)  # writes the bytecode, as an import does
        except (SyntaxError, ValueError, OSError, RecursionError, MemoryError):
            continue  # one that cannot be compiled is the tests' own affair
        pending += imported(code, name, loader.is_package(name))


def main(spec):
    """Compile what the specification names."""
    compile_all(spec["packages"], spec["roots"])
    os._exit(0)
