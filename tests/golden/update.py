"""Write the golden file anew and tell what changed: ``python tests/golden/update.py``.

Results on datasets that are not at hand keep their lines. A result that changed has to be told to
users, under "### Changed results" in CHANGELOG.md.
"""

from golden_cases import CASES, MissingDataset, quietly
from golden_file import GOLDEN_FILE, fingerprint, read_golden, same, write_golden


def main():
    old = read_golden() if GOLDEN_FILE.exists() else {}
    new = {}
    for name, compute in CASES.items():
        try:
            new[name] = fingerprint(quietly(compute))
        except MissingDataset:
            new |= {name: old[name]} if name in old else {}
            print(f"not at hand: {name}")
        else:
            # The last bits of another processor are no news.
            if name in old and same(new[name], old[name]):
                new[name] = old[name]
    for word, names in (
        ("new", new.keys() - old.keys()),
        ("gone", old.keys() - new.keys()),
        ("CHANGED", {name for name in new.keys() & old.keys() if new[name] != old[name]}),
    ):
        for name in sorted(names):
            print(f"{word}: {name}")
        if word == "CHANGED" and names:
            print('Say what changed and why in CHANGELOG.md, under "### Changed results".')
    write_golden(new)


if __name__ == "__main__":
    main()
