# SPDX-License-Identifier: MIT
"""Makes digits.bin, the one data file of the project, from scikit-learn's digits.csv.gz.

    pip download --no-deps scikit-learn && unzip scikit_learn-*.whl sklearn/datasets/data/digits.csv.gz
    python3 make_digits.py sklearn/datasets/data/digits.csv.gz digits.bin

Each image becomes 65 bytes: 64 pixels of 0..16 row after row, then its label 0..9. Needs nothing
but the standard library. The digest of the result is checked, so the file is the same everywhere.
"""

import gzip
import hashlib
import sys

DIGEST = "68aea062d35a127749050fa0e52dca09d6569ac08092c925610e0954e172dde2"


def main(source: str, target: str) -> int:
    with gzip.open(source, "rt", encoding="ascii") as lines:
        images = [[int(float(field)) for field in line.split(",")] for line in lines]
    if len(images) != 1797 or any(len(image) != 65 for image in images):
        print(f"{source}: expected 1797 lines of 65 numbers", file=sys.stderr)
        return 1
    content = b"".join(bytes(image) for image in images)
    digest = hashlib.sha256(content).hexdigest()
    if digest != DIGEST:
        print(f"{source}: the result has SHA-256 {digest}, expected {DIGEST}", file=sys.stderr)
        return 1
    with open(target, "wb") as output:
        output.write(content)
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(sys.argv[1], sys.argv[2]))
