"""Asks the named questions of other engines and compares the rows with recto's own.

    python lake_engines.py RECTO STORE ENGINE...

ENGINE: delta-rs (counts only), polars, duckdb, chdb, spark. Prints one line for each engine and
question, and exits with 1 if any answer differs.
"""

import datetime
import decimal
import importlib.metadata
import json
import os
import subprocess
import sys
import time

RECTO, STORE, ENGINES = sys.argv[1], sys.argv[2], sys.argv[3:]
TABLES = ["lines", "blocks", "usage", "segments", "prices"]


def recto(*words):
    return subprocess.run([RECTO, *words], check=False, capture_output=True, text=True).stdout


def rows_of(text):
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def plain(value):
    if value is None:
        return None
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (datetime.datetime, datetime.date)):
        return value.isoformat()[:10]
    if isinstance(value, (float, decimal.Decimal)):
        number = float(value)
        return int(number) if number.is_integer() else round(number, 6)
    return value


def names():
    listed = rows_of(recto("query", "--list", "--json"))
    return [row["name"] for row in listed if row["kind"] == "question"]


def ddl(engine):
    return recto("lake", "ddl", "--engine", engine, "--store", STORE)


def statements(text):
    return [part.strip() for part in text.split(";\n") if part.strip()]


def delta_rs():
    import deltalake
    import pyarrow.compute  # noqa: F401

    status = {row["table"]: row for row in rows_of(recto("lake", "status", "--json", "--store", STORE))}
    for table in TABLES:
        files = recto("lake", "files", table, "--store", STORE).split()
        root = files[0].rsplit("/", 1)[0]
        found = deltalake.DeltaTable(root)
        # The rows are read, not taken from the log.
        count = found.to_pyarrow_table(columns=["parser_v"] if table != "prices" else ["model"]).num_rows
        expected = (status[table]["version"], status[table]["rows"])
        yield table, (found.version(), count) == expected, f"{found.version()} {count} {expected}"


def polars():
    scope = {}
    exec(ddl("polars"), scope)
    return lambda sql: scope["context"].execute(sql, eager=True).rows()


def duckdb():
    import duckdb as engine
    import duckdb_extension_delta

    folder = os.path.dirname(duckdb_extension_delta.__file__)
    found = [
        os.path.join(path, name)
        for path, _, files in os.walk(folder)
        for name in files
        if name.endswith(".duckdb_extension")
    ]
    connection = engine.connect(config={"allow_unsigned_extensions": "true"})
    connection.execute(f"LOAD '{found[0]}'")
    for statement in statements(ddl("duckdb")):
        if not statement.startswith(("INSTALL", "LOAD", "SET TimeZone")):
            connection.execute(statement)
    return lambda sql: connection.execute(sql).fetchall()


def chdb():
    from chdb import session

    # It reads files below its working directory only.
    os.chdir(os.path.dirname(os.path.abspath(STORE)))
    opened = session.Session()
    settings = []
    for statement in statements(ddl("clickhouse")):
        if statement.startswith("SET "):
            settings.append(statement[4:])
        else:
            opened.query(statement)

    def ask(sql):
        text = f"{sql}\nSETTINGS {', '.join(settings)}" if settings else sql
        answer = opened.query(text, "JSONCompactEachRow").bytes().decode()
        rows = [json.loads(line) for line in answer.splitlines() if line]
        # Large numbers come as text.
        number = lambda one: int(one) if isinstance(one, str) and one.lstrip("-").isdigit() else one
        return [tuple(number(one) for one in row) for row in rows]

    return ask


def spark():
    from pyspark.sql import SparkSession

    master = os.environ.get("SPARK_MASTER", "local[2]")
    session = (
        SparkSession.builder.master(master)
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    for table in TABLES:
        files = recto("lake", "files", table, "--store", STORE).split()
        session.read.parquet(*files).createOrReplaceTempView(table)
    for statement in statements(ddl("spark")):
        if statement.startswith("CREATE OR REPLACE TEMPORARY VIEW"):
            session.sql(statement)
    return lambda sql: [tuple(row) for row in session.sql(sql).collect()]


def usage_totals():
    """What `recto usage` counts in the home that the store is made of."""
    total = rows_of(recto("usage", "--json"))[0]["total"]
    names = ["messages", "input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]
    return [total[name] for name in names]


def version(engine):
    wheel = {"delta-rs": "deltalake", "spark": "pyspark"}.get(engine, engine)
    print(f"{engine}\tversion\t{importlib.metadata.version(wheel)}", flush=True)


def main():
    failed = 0
    questions = names()
    expected = {}
    library = recto("query", "SELECT sqlite_version() AS v", "--csv", "--store", STORE)
    print(f"sqlite\tversion\t{library.split()[-1]}", flush=True)
    for name in questions:
        started = time.monotonic()
        answer = rows_of(recto("query", name, "--store", STORE, "--json", "--limit", "0"))
        expected[name] = [[plain(value) for value in row.values()] for row in answer]
        print(f"sqlite\t{name}\treference\t{len(answer)}\t{time.monotonic() - started:.2f}", flush=True)
    if os.environ.get("RECTO_HOME_IS_STORE"):
        is_same = usage_totals() == expected["totals"][0][:5]
        failed += not is_same
        print(f"sqlite\tusage\t{'same' if is_same else 'DIFFERS'}\t1\t0.00", flush=True)
    for engine in ENGINES:
        version(engine)
        started = time.monotonic()
        if engine == "delta-rs":
            for table, is_same, detail in delta_rs():
                failed += not is_same
                took = time.monotonic() - started
                print(f"delta-rs\t{table}\t{'same' if is_same else 'DIFFERS ' + detail}\t{took:.2f}")
                started = time.monotonic()
            continue
        try:
            ask = {"polars": polars, "duckdb": duckdb, "chdb": chdb, "spark": spark}[engine]()
        except Exception as error:  # noqa: BLE001
            print(f"{engine}\topening\tFAILED {str(error)[:300]!r}\t0.00", flush=True)
            failed += 1
            continue
        print(f"{engine}\topened\t{time.monotonic() - started:.2f}")
        for name in questions:
            sql = recto("query", name, "--sql").strip()
            started = time.monotonic()
            try:
                found = [[plain(value) for value in row] for row in ask(sql)]
                verdict = "same" if found == expected[name] else "DIFFERS"
            except Exception as error:  # noqa: BLE001
                found, verdict = [], "FAILED " + str(error).replace("\n", " ")[:300]
            print(f"{engine}\t{name}\t{verdict}\t{len(found)}\t{time.monotonic() - started:.2f}")
            if verdict != "same":
                failed += 1
                for one, other in list(zip(expected[name], found))[:200]:
                    if one != other:
                        print(f"  expected {one}\n  found    {other}")
                        break
    sys.exit(1 if failed else 0)


main()
