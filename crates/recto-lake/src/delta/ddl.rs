//! What other engines are told to read the tables: statements to paste.

use recto_collect::Store;

use crate::delta::lake::Lake;
use crate::delta::lake::runtime;
use crate::error::LakeError;
use crate::library::nearest;
use crate::library::views;
use crate::schema::Table;

/// An engine that reads the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Apache Spark, and what speaks like it.
    Spark,
    /// DuckDB.
    DuckDb,
    /// ClickHouse, and chDB.
    ClickHouse,
    /// Trino.
    Trino,
    /// Polars, in Python.
    Polars,
}

impl Engine {
    /// All of them.
    pub const ALL: [Engine; 5] =
        [Engine::Spark, Engine::DuckDb, Engine::ClickHouse, Engine::Trino, Engine::Polars];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Spark => "spark",
            Engine::DuckDb => "duckdb",
            Engine::ClickHouse => "clickhouse",
            Engine::Trino => "trino",
            Engine::Polars => "polars",
        }
    }

    /// The engine of a name.
    pub fn of_name(name: &str) -> Result<Engine, LakeError> {
        let found = Engine::ALL.into_iter().find(|engine| engine.name() == name);
        found.ok_or_else(|| LakeError::NoName {
            what: "engine",
            name: name.to_owned(),
            near: match nearest(name, Engine::ALL.map(Engine::name)) {
                near if near.is_empty() => Engine::ALL.map(|one| one.name().to_owned()).to_vec(),
                near => near,
            },
        })
    }
}

impl Lake {
    /// The statements that make the tables and views of a store known to an engine.
    pub fn ddl(store: &Store, engine: Engine) -> Result<String, LakeError> {
        let lake = runtime()?.block_on(Lake::open(store))?;
        let mut text = head(engine).to_owned();
        for table in Table::ALL {
            let (name, address) = (table.name(), lake.address(table));
            let quoted = quoted(engine, &address);
            text += &match engine {
                Engine::Spark => format!(
                    "CREATE TABLE IF NOT EXISTS {name} USING delta LOCATION {};\n",
                    quoted.replacen("s3://", "s3a://", 1)
                ),
                Engine::DuckDb => {
                    format!(
                        "CREATE OR REPLACE VIEW {name} AS SELECT * FROM delta_scan({quoted});\n"
                    )
                }
                Engine::ClickHouse => {
                    let function = match address.split_once("://").map(|(scheme, _)| scheme) {
                        None => "deltaLakeLocal",
                        Some("az") => "deltaLakeAzure",
                        Some(_) => "deltaLake",
                    };
                    format!(
                        "CREATE OR REPLACE VIEW {name} AS SELECT * FROM {function}({quoted});\n"
                    )
                }
                Engine::Trino => format!(
                    "CALL lake.system.register_table(schema_name => 'recto', table_name => '{name}', \
                     table_location => {quoted});\n"
                ),
                Engine::Polars => {
                    format!("context.register(\"{name}\", pl.scan_delta({quoted}))\n")
                }
            };
        }
        for view in views() {
            text += &match engine {
                Engine::Spark => {
                    format!("CREATE OR REPLACE TEMPORARY VIEW {} AS\n{};\n", view.name, view.sql)
                }
                Engine::DuckDb | Engine::ClickHouse | Engine::Trino => {
                    format!("CREATE OR REPLACE VIEW {} AS\n{};\n", view.name, view.sql)
                }
                Engine::Polars => format!(
                    "context.register(\"{}\", context.execute(\"\"\"\n{}\n\"\"\"))\n",
                    view.name, view.sql
                ),
            };
        }
        Ok(text)
    }
}

/// An address as a text of an engine: that of a directory can have any character.
fn quoted(engine: Engine, address: &str) -> String {
    match engine {
        Engine::DuckDb | Engine::Trino => format!("'{}'", address.replace('\'', "''")),
        Engine::Spark | Engine::ClickHouse => {
            format!("'{}'", address.replace('\\', "\\\\").replace('\'', "\\'"))
        }
        Engine::Polars => {
            format!("\"{}\"", address.replace('\\', "\\\\").replace('"', "\\\""))
        }
    }
}

fn head(engine: Engine) -> &'static str {
    match engine {
        Engine::Spark => {
            "-- spark-sql --packages io.delta:delta-spark_2.13:4.0.0 --conf \
             spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension --conf \
             spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog\n\
             SET spark.sql.session.timeZone=UTC;\n"
        }
        Engine::DuckDb => "INSTALL delta;\nLOAD delta;\nSET TimeZone = 'UTC';\n",
        Engine::ClickHouse => "SET join_use_nulls = 1;\n",
        Engine::Trino => {
            "-- with a Delta Lake catalog called `lake` and a schema `recto`\nUSE lake.recto;\n"
        }
        Engine::Polars => {
            "# pip install polars deltalake\nimport polars as pl\n\ncontext = pl.SQLContext()\n"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_stays_within_its_quotes() {
        let address = r#"/st ore'x"\y/lake"#;
        for (engine, expected) in [
            (Engine::DuckDb, r#"'/st ore''x"\y/lake'"#),
            (Engine::Trino, r#"'/st ore''x"\y/lake'"#),
            (Engine::Spark, r#"'/st ore\'x"\\y/lake'"#),
            (Engine::ClickHouse, r#"'/st ore\'x"\\y/lake'"#),
            (Engine::Polars, r#""/st ore'x\"\\y/lake""#),
        ] {
            assert_eq!(quoted(engine, address), expected, "{engine:?}");
        }
    }
}
