//! What other engines are told to read the tables: statements to paste.

use recto_collect::AzureAccount;
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
        if engine == Engine::ClickHouse && store.account().is_some() {
            text += "-- replace ACCOUNT_KEY with a key of the account\n";
        }
        for table in Table::ALL {
            let name = table.name();
            let address = address(engine, &lake.address(table), store.account());
            let quoted = quoted(engine, &address);
            text += &match engine {
                Engine::Spark => {
                    format!("CREATE TABLE IF NOT EXISTS {name} USING delta LOCATION {quoted};\n")
                }
                Engine::DuckDb => {
                    format!(
                        "CREATE OR REPLACE VIEW {name} AS SELECT * FROM delta_scan({quoted});\n"
                    )
                }
                Engine::ClickHouse => {
                    let source = match (address.split_once("://"), store.account()) {
                        (None, _) => format!("deltaLakeLocal({quoted})"),
                        (Some(("az", place)), Some(account)) => azure_source(account, place),
                        (Some(_), _) => format!("deltaLake({quoted})"),
                    };
                    format!("CREATE OR REPLACE VIEW {name} AS SELECT * FROM {source};\n")
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

/// An address as an engine spells it. Hadoop's file systems, which Spark and Trino use for Azure,
/// name the container and the account's second endpoint.
fn address(engine: Engine, address: &str, account: Option<&AzureAccount>) -> String {
    match (engine, address.split_once("://"), account) {
        (Engine::Spark, Some(("s3", place)), _) => format!("s3a://{place}"),
        (Engine::Spark | Engine::Trino, Some(("az", place)), Some(account)) => {
            let host = account.address.split_once("://").map_or("", |(_, host)| host);
            let host = host.replacen(".blob.", ".dfs.", 1);
            let (container, path) = place.split_once('/').unwrap_or((place, ""));
            format!("abfss://{container}@{host}/{path}")
        }
        _ => address.to_owned(),
    }
}

/// ClickHouse takes the account, the container, the path and the key each for itself.
fn azure_source(account: &AzureAccount, place: &str) -> String {
    let (container, path) = place.split_once('/').unwrap_or((place, ""));
    let words = [&account.address, container, path, &account.name, "ACCOUNT_KEY"];
    format!("deltaLakeAzure({})", words.map(|word| quoted(Engine::ClickHouse, word)).join(", "))
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
    fn engines_spell_the_addresses_of_clouds_in_their_way() {
        let account = AzureAccount {
            name: "team".to_owned(),
            address: "https://team.blob.core.windows.net".to_owned(),
        };
        let (azure, amazon) = ("az://logs/fleet/lake/v1/usage", "s3://logs/fleet/lake/v1/usage");
        for engine in [Engine::Spark, Engine::Trino] {
            assert_eq!(
                address(engine, azure, Some(&account)),
                "abfss://logs@team.dfs.core.windows.net/fleet/lake/v1/usage"
            );
        }
        assert_eq!(address(Engine::DuckDb, azure, Some(&account)), azure);
        assert_eq!(address(Engine::Polars, azure, Some(&account)), azure);
        assert_eq!(address(Engine::Spark, amazon, None), "s3a://logs/fleet/lake/v1/usage");
        assert_eq!(address(Engine::Trino, amazon, None), amazon);
        assert_eq!(
            azure_source(&account, "logs/fleet/usage"),
            "deltaLakeAzure('https://team.blob.core.windows.net', 'logs', 'fleet/usage', 'team', \
             'ACCOUNT_KEY')"
        );
    }

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
