"""Walk through the checklist of a release, and say what is left to do by hand.

    python tools/release.py 0.2.0             # states the version in this checkout, then checks
    python tools/release.py 0.2.0rc1 --dry-run   # the same in a copy of the last commit

Steps: the version in all files, pages that say how to install a release, the notes from the
changelog, kernels, both archives, their contents and metadata, the wheel in an environment without
anything else, the recipe for conda-forge. Archives, notes and recipe are left in the folder
``--out`` (default: ``dist``). Nothing is committed, tagged
or published: the last lines are the commands that do.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What pages say before the first release, and from it on.
INSTALLED = (
    (r'pip install "\.\[(?!docs)', 'pip install "labelance['),
    (r"pip install \.(?= )", "pip install labelance"),
    (r"   # in a copy of the source", ""),
    (r" and a copy of the source", ""),
    (r"From a copy of the source:", "From the package index:"),
)


class StepError(Exception):
    """A step of the checklist failed."""


@dataclass
class Release:
    """A version, the sources it is made of, and the folder for what is made."""

    version: str
    root: Path
    out: Path

    def run(self, *command: object) -> str:
        """Return what a command prints, or fail with it."""
        done = subprocess.run(
            list(map(str, command)), cwd=self.root, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise StepError((done.stdout + done.stderr).strip()[-2000:])
        return done.stdout.strip()

    @property
    def wheels(self) -> list[Path]:
        """The wheel that was built here, and those of CI next to it."""
        return sorted(self.out.glob(f"labelance-{self.version}-*.whl"))

    @property
    def sdist(self) -> Path:
        return self.out / f"labelance-{self.version}.tar.gz"


def state_version(release: Release) -> str:
    """Write the version into the files that state it, and give it the unreleased changes."""
    for name, pattern, line in (
        ("src/labelance/__init__.py", r'^__version__ = ".+"$', '__version__ = "{}"'),
        ("CITATION.cff", r"^version: .+$", "version: {}"),
        ("recipe/meta.yaml", r"^{% set version = .+$", '{{% set version = "{}" %}}'),
    ):
        path = release.root / name
        text, n = re.subn(
            pattern, line.format(release.version), path.read_text(encoding="utf-8"), flags=re.M
        )
        if n != 1:
            raise StepError(f"{name} states the version in {n} lines")
        path.write_text(text, encoding="utf-8")
    path = release.root / "CHANGELOG.md"
    text = path.read_text(encoding="utf-8")
    if f"\n## [{release.version}]" not in text:
        # What its release candidates listed belongs to the version.
        base = re.escape(re.match(r"[\d.]*\d", release.version)[0])  # type: ignore[index]
        text = re.sub(rf"^## \[{base}(?:a|b|rc)\d+\] - .*\n+", "", text, flags=re.M)
        heading = f"## [Unreleased]\n\n## [{release.version}] - {date.today().isoformat()}"
        path.write_text(text.replace("## [Unreleased]", heading, 1), encoding="utf-8")
    return release.version


def find_address(root: Path) -> str | None:
    """Return the page on GitHub that this checkout was cloned from."""
    git = ["git", "-C", str(root), "remote", "get-url", "origin"]
    found = subprocess.run(git, capture_output=True, text=True, check=False).stdout
    match = re.search(r"github\.com[:/]([\w.-]+/[\w.-]+?)(\.git)?/?$", found.strip())
    return match and f"https://github.com/{match[1]}"


def state_pages(release: Release) -> str:
    """Let pages install the release, and lead to the repository where its address is known."""
    pages = [release.root / "README.md", *sorted(release.root.glob("docs/**/*.md"))]
    changed = 0
    for path in pages:
        text = before = path.read_text(encoding="utf-8")
        for pattern, words in INSTALLED:
            text = re.sub(pattern, words, text)
        path.write_text(text, encoding="utf-8")
        changed += text != before
    address = find_address(ROOT)
    if address is None:
        return f"{changed} pages; no address on GitHub: links of README.md stay relative"
    state_address(release.root, address)
    return f"{changed} pages; {address}"


def state_address(root: Path, address: str) -> None:
    """Write the address into the metadata, and make the links of the README absolute."""
    path = root / "pyproject.toml"
    text = path.read_text(encoding="utf-8")
    owner, name = address.split("/")[-2:]
    site = f"https://{owner.lower()}.github.io/{name}/stable/"
    if "[project.urls]" not in text:
        urls = {
            "Documentation": site,
            "Source": address,
            "Issues": f"{address}/issues",
            "Changelog": f"{address}/blob/main/CHANGELOG.md",
        }
        lines = "".join(f'{word} = "{url}"\n' for word, url in urls.items())
        text = text.replace("[project.scripts]", f"[project.urls]\n{lines}\n[project.scripts]", 1)
        path.write_text(text, encoding="utf-8")
    path = root / "README.md"  # the package index shows it, and resolves no relative links
    text = path.read_text(encoding="utf-8")
    # Pages of the site have roles, which the repository would show as they are written.
    text = re.sub(r"\]\(docs/([\w/]+)\.md(#[\w-]+)?\)", rf"]({site}\1.html\2)", text)
    text = re.sub(r"\]\((?!https?:|#)", f"]({address}/blob/main/", text)
    text = re.sub(r'((?:src|srcset)=")(?!https?:)', rf"\g<1>{address}/raw/main/", text)
    path.write_text(text, encoding="utf-8")


def write_notes(release: Release) -> str:
    """Write what the changelog says of the version."""
    notes = release.out / "notes.md"
    release.run(sys.executable, ".ci/check_release.py", f"v{release.version}", notes)
    return f"{len(notes.read_text(encoding='utf-8').splitlines())} lines in {notes.name}"


def build_kernels(release: Release) -> str:
    """Compile the kernels next to their sources, for the steps that run from those."""
    release.run(sys.executable, "tools/build.py")
    return f"{len(list(release.root.glob('src/**/_kernels.pyx')))} modules"


def check_saved(release: Release) -> str:
    """Write the files by which later versions are tested; a pre-release needs none."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", release.version):
        return "a pre-release saves none"
    folder = release.root / "tests" / "saved" / release.version
    if not folder.is_dir():
        release.run(
            sys.executable,
            "-c",
            "import sys, runpy; sys.path.insert(0, 'src'); "
            "runpy.run_path('tests/saved/saved_models.py', run_name='__main__')",
        )
    return f"{len(list(folder.iterdir()))} files in tests/saved/{release.version}"


def build(release: Release) -> str:
    """Make the archive of sources, and the wheel from it."""
    release.run(sys.executable, "-m", "build", "--outdir", release.out, ".")
    return ", ".join(
        f"{path.name} ({path.stat().st_size // 1024} kB)"
        for path in (release.sdist, *release.wheels)
    )


def check_archives(release: Release) -> str:
    """Check what the wheel holds, and the metadata as the package index does."""
    found = [release.run(sys.executable, ".ci/check_wheel.py", each) for each in release.wheels]
    with tempfile.TemporaryDirectory() as folder:
        python = new_environment(release, folder, "twine")
        release.run(python, "-m", "twine", "check", "--strict", *release.wheels, release.sdist)
    return f"{'; '.join(found)}; twine passed"


def try_wheels(release: Release) -> str:
    """Install each wheel of this machine where nothing else is, and use it."""
    return "; ".join(f"{wheel.name}: {try_wheel(release, wheel)}" for wheel in release.wheels)


def try_wheel(release: Release, wheel: Path) -> str:
    with tempfile.TemporaryDirectory() as folder:
        try:
            python = new_environment(release, folder, wheel)
        except StepError as error:
            if "not a supported wheel" in str(error):
                return "of another machine"
            raise
        release.run(python, "-m", "pip", "check")
        return release.run(python, "-I", release.root / ".ci" / "smoke.py", folder)


def new_environment(release: Release, folder: str, wanted: object) -> Path:
    """Install one thing into an empty environment, and return its Python."""
    venv.create(folder, with_pip=True)
    python = Path(folder, "Scripts" if os.name == "nt" else "bin", "python")
    release.run(python, "-m", "pip", "install", "--quiet", wanted)
    return python


def write_recipe(release: Release) -> str:
    """Put version and checksum into the recipe for conda-forge."""
    text = (release.root / "recipe" / "meta.yaml").read_text(encoding="utf-8")
    digest = sha256(release.sdist.read_bytes()).hexdigest()
    filled = text.replace('{% set sha256 = "" %}', f'{{% set sha256 = "{digest}" %}}')
    (release.out / "meta.yaml").write_text(filled, encoding="utf-8")
    return f"meta.yaml, sha256 {digest[:12]}…"


STEPS: dict[str, Callable[[Release], str]] = {
    "state the version": state_version,
    "pages": state_pages,
    "notes": write_notes,
    "kernels": build_kernels,
    "saved models": check_saved,
    "build": build,
    "archives": check_archives,
    "bare environment": try_wheels,
    "recipe": write_recipe,
}
BY_HAND = """
Left to do by hand:
  .ci/run                                            # must pass on the commit to be tagged
  git add -A && git commit -m "Release {version}" && git push
  git tag -a v{version} -m "labelance {version}" && git push origin v{version}
The tag starts .github/workflows/release.yml, which checks again and publishes. Then:
  - set __version__ to the next version with .dev0
  - submit {out}/meta.yaml to conda-forge/staged-recipes (the first time) or merge its bot's change
"""


def walk(release: Release) -> bool:
    """Do the steps in turn, and stop at the first that fails."""
    for name, step in STEPS.items():
        begun = time.perf_counter()
        try:
            word, found = "ok", step(release)
        except StepError as error:
            word, found = "FAILED", str(error)
        print(f"{word:<6} {name:<18} {time.perf_counter() - begun:5.1f} s  {found}", flush=True)
        if word != "ok":
            return False
    return True


def check_clean(root: Path) -> None:
    """Refuse to release what is not committed."""
    changed = Release("", root, root).run("git", "status", "--porcelain")
    if changed:
        raise SystemExit(f"There are changes that are not committed. Commit them first.\n{changed}")


def copy_commit(root: Path, folder: Path) -> None:
    """Unpack the files of the last commit."""
    archive = subprocess.Popen(["git", "archive", "HEAD"], cwd=root, stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "-C", folder], stdin=archive.stdout, check=True)
    if archive.wait():
        raise SystemExit("git archive failed. The checklist needs a checkout with git.")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("version")
    parser.add_argument("--dry-run", action="store_true", help="change nothing here")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    given = parser.parse_args(arguments)
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", given.version):
        raise SystemExit(f"A version is like 0.2.0 or 0.2.0rc1. Got {given.version}.")
    given.out.mkdir(parents=True, exist_ok=True)
    out = given.out.resolve()
    if not given.dry_run:
        check_clean(ROOT)
        passed = walk(Release(given.version, ROOT, out))
    else:
        with tempfile.TemporaryDirectory() as folder:
            copy_commit(ROOT, Path(folder))
            passed = walk(Release(given.version, Path(folder), out))
    if passed:
        print(BY_HAND.format(version=given.version, out=given.out.name))
    return not passed


if __name__ == "__main__":
    raise SystemExit(main())
