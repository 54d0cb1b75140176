"""How the backend is compiled and cached."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

import lacuna
from lacuna.torch import backend


def test_an_import_compiles_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    code = ("import lacuna.torch; from torch import distributed; import sys; "
            "assert 'lacuna' in distributed.Backend.backend_list and 'lacuna_c10d' not in sys.modules")
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert not list(tmp_path.iterdir())


def test_the_name_has_what_the_module_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    name = backend.folder().name
    assert torch.__version__ in name and lacuna.version in name and sys.implementation.cache_tag in name
    monkeypatch.setattr(torch, "__version__", "2.99")
    assert backend.folder().name != name


def test_an_older_torch_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for version in ("2.12.1", "1.13.0"):
        monkeypatch.setattr(torch, "__version__", version)
        with pytest.raises(lacuna.Unsupported, match=f"this is PyTorch {version}, and the backend needs 2.13 or later"):
            backend.build()


def test_torch_finds_an_installed_lacuna_by_its_name() -> None:
    code = """
from torch import distributed
distributed.init_process_group("lacuna", store=distributed.HashStore(), rank=0, world_size=1)
assert distributed.get_backend() == "lacuna"
distributed.destroy_process_group()
"""
    from importlib.metadata import entry_points

    if not entry_points(group="torch.distributed.backends", name="lacuna"):
        pytest.skip("lacuna is not installed, but taken from a folder")
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def build_slowly(folder: str, times: multiprocessing.Queue) -> None:
    import os

    os.environ["TORCH_EXTENSIONS_DIR"] = folder

    def compile_slowly(work: Path, module: Path, verbose: bool) -> None:
        time.sleep(0.5)
        times.put(os.getpid())
        module.write_bytes(b"compiled")

    backend._compile = compile_slowly
    assert backend.build().read_bytes() == b"compiled"


def test_one_of_several_processes_compiles(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    times = context.SimpleQueue()
    processes = [context.Process(target=build_slowly, args=(str(tmp_path), times)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(30)
        assert process.exitcode == 0
    times.get()
    assert times.empty()
