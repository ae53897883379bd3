"""Reads tables with delta-rs again and again: a line on standard input is a look.

    python lake_judge.py ADDRESS ENDPOINT

Prints for each look: the lines of the table `lines`, the rows of all tables that are there twice,
the version of `lines`, and the rows of `blocks` and `usage`; or what is wrong with a table.
"""

import sys

import deltalake
import pyarrow as pa
import pyarrow.compute as pc

ADDRESS, ENDPOINT = sys.argv[1], sys.argv[2]
OPTIONS = {
    "AWS_ENDPOINT_URL": ENDPOINT,
    "AWS_ACCESS_KEY_ID": "any",
    "AWS_SECRET_ACCESS_KEY": "any",
    "AWS_REGION": "us-east-1",
    "AWS_ALLOW_HTTP": "true",
}
KEYS = {
    "segments": ["machine", "file_id", "gen", "range_start"],
    "blocks": ["machine", "file_id", "gen", "off", "idx"],
    "usage": ["machine", "file_id", "gen", "off"],
    "lines": ["machine", "file_id", "gen", "off"],
}

for _ in sys.stdin:
    try:
        rows, twice, version = {}, 0, 0
        for name, columns in KEYS.items():
            table = deltalake.DeltaTable(f"{ADDRESS}/{name}", storage_options=OPTIONS)
            version = table.version()
            found = table.to_pyarrow_table(columns=columns)
            key = pc.binary_join_element_wise(
                *[pc.cast(found[column], pa.string()) for column in columns], "/"
            )
            rows[name] = found.num_rows
            twice += len(key) - len(pc.unique(key))
        print(f"{rows['lines']} {twice} {version} {rows['blocks']} {rows['usage']}", flush=True)
    except Exception as error:  # noqa: BLE001
        text = str(error).replace("\n", " ")
        print(f"torn {text[:300]}", flush=True)
