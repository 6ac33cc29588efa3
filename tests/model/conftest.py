from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import tiny


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tiny models: llama.gguf, other.gguf, mamba.gguf."""
    folder = tmp_path_factory.mktemp("weights")
    tiny.write_llama(folder / "llama.gguf")
    tiny.write_llama(folder / "other.gguf", width=128)
    tiny.write_mamba(folder / "mamba.gguf")
    return folder
