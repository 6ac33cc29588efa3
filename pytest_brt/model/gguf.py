"""Reads the header of a GGUF file: what the model is and what it needs, without its weights.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Everything read is checked
against the file's size, so that a cut or foreign file gives one clear line, and the names,
shapes and offsets of the tensors say how long the file must be.
"""

from __future__ import annotations

import mmap
import re
import struct
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pytest_brt.errors import ModelProblem
from pytest_brt.model.header import GgufHeader, Scalar, Value

_MAGIC = b"GGUF"
#: How the parts of one model are called.
_PART = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.gguf")
#: More layers than any model has; what is planned goes by each of them.
_MOST_LAYERS = 100_000
#: Arrays longer than this (vocabularies) are stepped over.
_KEEP = 4096
#: Missing parts of a model that are named.
_NAMED = 4
#: Bytes of a header that are read at most: a sparse file may be as long as it likes.
_MOST_BYTES = 64 << 20
_STRING, _ARRAY = 8, 9
_SCALARS: Mapping[int, str] = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f",
    7: "<?", 10: "<Q", 11: "<q", 12: "<d",
}  # fmt: skip
#: ggml type → name, values per block, bytes per block (ggml.h and ggml-common.h).
_TYPES: Mapping[int, tuple[str, int, int]] = {
    0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20),
    6: ("Q5_0", 32, 22), 7: ("Q5_1", 32, 24), 8: ("Q8_0", 32, 34),
    10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110), 12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176), 14: ("Q6_K", 256, 210), 15: ("Q8_K", 256, 292),
    16: ("IQ2_XXS", 256, 66), 17: ("IQ2_XS", 256, 74), 18: ("IQ3_XXS", 256, 98),
    19: ("IQ1_S", 256, 50), 20: ("IQ4_NL", 32, 18), 21: ("IQ3_S", 256, 110),
    22: ("IQ2_S", 256, 82), 23: ("IQ4_XS", 256, 136), 24: ("I8", 1, 1), 25: ("I16", 1, 2),
    26: ("I32", 1, 4), 27: ("I64", 1, 8), 28: ("F64", 1, 8), 29: ("IQ1_M", 256, 56),
    30: ("BF16", 1, 2), 34: ("TQ1_0", 256, 54), 35: ("TQ2_0", 256, 66), 39: ("MXFP4", 32, 17),
    40: ("NVFP4", 64, 36), 41: ("Q1_0", 128, 18),
}  # fmt: skip


class _Reader:
    """A position in the mapped file; each read is checked."""

    def __init__(self, data: mmap.mmap, path: Path) -> None:
        self.data = data
        self.at = 0
        self.path = path
        #: Values of the array that was read last.
        self.count = 0

    def require(self, size: int) -> None:
        """Refuse a header that goes on for `size` bytes more than it may, or the file has."""
        end = self.at + size
        if end > len(self.data):
            raise ModelProblem(
                f"the model file ends too early: {str(self.path)!r} has {len(self.data)} bytes and "
                f"its header needs at least {end} (copy or download it again)"
            )
        if end > _MOST_BYTES:
            raise _broken(self.path, f"a header of more than {_MOST_BYTES >> 20} MB")

    def skip(self, size: int) -> None:
        self.require(size)
        self.at += size

    def number(self, form: str) -> int | float | bool:
        start = self.at
        self.skip(struct.calcsize(form))
        (value,) = struct.unpack_from(form, self.data, start)
        return value  # type: ignore[no-any-return]  # struct's result is untyped

    def integer(self, form: str) -> int:
        return int(self.number(form))

    def string(self) -> str:
        length = self.integer("<Q")
        start = self.at
        self.skip(length)
        return self.data[start : self.at].decode("utf-8", "replace")

    def value(self) -> Value | None:
        """Read one value; None stands for an array that was stepped over."""
        kind = self.integer("<I")
        return self.array() if kind == _ARRAY else self.scalar(kind)

    def scalar(self, kind: int) -> Scalar:
        if kind == _STRING:
            return self.string()
        return self.number(self.form(kind))

    def form(self, kind: int) -> str:
        """Return how `struct` writes numbers of that kind."""
        if kind not in _SCALARS:
            raise _broken(self.path, f"value type {kind} at byte {self.at}")
        return _SCALARS[kind]

    def array(self) -> Value | None:
        kind, self.count = self.integer("<I"), self.integer("<Q")
        if kind == _STRING:
            self.require(8 * self.count)  # their lengths
            if self.count > _KEEP:
                for _ in range(self.count):
                    self.skip(self.integer("<Q"))
                return None
        else:
            size = self.count * struct.calcsize(self.form(kind))
            self.require(size)
            if self.count > _KEEP:
                self.at += size
                return None
        return tuple(self.scalar(kind) for _ in range(self.count))


def _broken(path: Path, what: str) -> ModelProblem:
    return ModelProblem(
        f"the model file's header is damaged: {what} in {str(path)!r} (copy or download it again)"
    )


def parts_of(path: Path) -> tuple[Path, ...]:
    """Return the files of the model that begins with `path`: only that one, or all its parts.

    >>> [part.name for part in parts_of(Path("m-00001-of-00002.gguf"))]
    ['m-00001-of-00002.gguf', 'm-00002-of-00002.gguf']
    """
    named = _PART.fullmatch(path.name)
    if named is None:
        return (path,)
    count = int(named[3])
    names = (f"{named[1]}-{number:05}-of-{count:05}.gguf" for number in range(1, count + 1))
    return tuple(path.with_name(name) for name in names)


def is_later_part(path: Path) -> bool:
    """Whether `path` is a part of a model, and not its first."""
    named = _PART.fullmatch(path.name)
    return named is not None and int(named[2]) != 1


def read_header(path: str | Path) -> GgufHeader:
    """Return what the model at `path` says about itself; reads no weights.

    Of a model in several parts it is the first that is named; the others stand beside it.

    Raises:
        ModelProblem: no such file, a part missing, not a GGUF file, a version or quantisation
            that is not known, or a file that is shorter than its header says.
    """
    path = Path(path)
    _check_parts(path)
    if is_later_part(path):
        raise ModelProblem(
            f"{str(path)!r} is a later part of a model (name its first: {parts_of(path)[0].name!r})"
        )
    whole = [_read_one(part) for part in parts_of(path)]
    types: Counter[str] = Counter()
    for part in whole:
        types.update(part.types)
    return replace(
        whole[0],
        size=sum(part.size for part in whole),
        expected=sum(part.expected for part in whole),
        parameters=sum(part.parameters for part in whole),
        expert_bytes=sum(part.expert_bytes for part in whole),
        types=types,
    )


def _check_parts(path: Path) -> None:
    """Say which parts of a model are missing where others are there."""
    parts = parts_of(path)
    missing = [part.name for part in parts if not part.exists()]
    if not missing or len(missing) == len(parts):
        return
    names = ", ".join(missing[:_NAMED]) + (", …" if len(missing) > _NAMED else "")
    raise ModelProblem(
        f"{len(missing)} of the {len(parts)} parts of the model are missing in "
        f"{str(path.parent)!r}: {names} (copy or download them into the same folder)"
    )


def _read_one(path: Path) -> GgufHeader:
    _check_start(path)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        header = _parse(_Reader(data, path), path)
    if not 0 <= header.layers <= _MOST_LAYERS:
        raise _broken(path, f"{header.layers:,} layers")
    if header.size < header.expected:
        raise ModelProblem(
            f"the model file is cut: {str(path)!r} has {header.size} bytes and its header "
            f"announces {header.expected} (copy or download it again)"
        )
    return header


def _check_start(path: Path) -> None:
    """Tell a GGUF file from the things that are mistaken for one."""
    if not path.exists():
        raise ModelProblem(
            f"no such model file: {str(path)!r} (run 'pytest-brt models list' for those you have)"
        )
    if not path.is_file():
        kind = "a folder" if path.is_dir() else "a pipe, a socket or a device"
        raise ModelProblem(f"not a model file but {kind}: {str(path)!r} (name a .gguf file)")
    try:
        with path.open("rb") as file:
            start = file.read(64)
    except OSError as error:
        raise ModelProblem(f"cannot read the model file {str(path)!r}: {error.strerror}") from error
    if start.startswith(b"version https://git-lfs"):
        raise ModelProblem(
            f"only a git-lfs pointer, not the model itself: {str(path)!r} (run 'git lfs pull')"
        )
    if not start:
        raise ModelProblem(f"the model file is empty: {str(path)!r} (copy or download it again)")
    if not start.startswith(_MAGIC):
        raise ModelProblem(
            f"not a GGUF file: {str(path)!r} starts with {start[:4]!r} "
            "(models in another format must be converted by llama.cpp's convert_hf_to_gguf.py)"
        )


def _parse(reader: _Reader, path: Path) -> GgufHeader:
    reader.skip(len(_MAGIC))
    version = reader.integer("<I")
    if version not in (2, 3):
        raise ModelProblem(
            f"GGUF version {version} is not known: {str(path)!r} (versions 2 and 3 are; "
            "convert it again with a current llama.cpp)"
        )
    tensors, count = reader.integer("<Q"), reader.integer("<Q")
    reader.require(12 * count + 24 * tensors)  # the least that each of them takes
    keys: dict[str, Value] = {}
    vocabulary = 0
    for _ in range(count):
        key = reader.string()
        value = reader.value()
        if key == "tokenizer.ggml.tokens":
            vocabulary = reader.count
        if value is not None:
            keys[key] = value
    sizes, parameters, end, experts = _tensors(reader, tensors, path)
    alignment = keys.get("general.alignment", 32)
    step = alignment if isinstance(alignment, int) and alignment > 0 else 32
    start = -(-reader.at // step) * step
    return GgufHeader(
        path=str(path),
        size=len(reader.data),
        keys=keys,
        parameters=parameters,
        types=sizes,
        expected=start + end if tensors else reader.at,
        vocabulary=vocabulary,
        expert_bytes=experts,
    )


def _tensors(reader: _Reader, count: int, path: Path) -> tuple[Counter[str], int, int, int]:
    """Read the table of tensors: bytes by type, parameters, the last one's end, experts' bytes."""
    sizes: Counter[str] = Counter()
    parameters = end = experts = 0
    for _ in range(count):
        name = reader.string()
        dims = reader.integer("<I")
        if dims > 4:
            raise _broken(path, f"tensor {name[:80]!r} with {dims} dimensions")
        values = 1
        for _ in range(dims):
            values *= reader.integer("<Q")
        kind, offset = reader.integer("<I"), reader.integer("<Q")
        parameters += values
        if kind not in _TYPES:  # newer than this table: llama.cpp will judge
            sizes[f"type {kind}"] += 0
            continue
        label, block, width = _TYPES[kind]
        size = -(-values // block) * width
        sizes[label] += size
        end = max(end, offset + size)
        experts += size if "_exps." in name else 0
    return sizes, parameters, end, experts
