//! The tables of a store, judged by others: `lake-engines` asks the named questions of every
//! engine, `lake-kills` kills builders and optimizers on a real object store. `figures` measures
//! what they cost.

pub(crate) mod engines;
pub(crate) mod figures;
pub(crate) mod kills;
mod report;

use std::fs;
use std::io::BufRead as _;
use std::io::BufReader;
use std::io::Write as _;
use std::net::TcpListener;
use std::net::TcpStream;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use anyhow::Context as _;
use anyhow::bail;
use recto_testkit::generate::Options;
use recto_testkit::generate::Shape;
use recto_testkit::generate::generate;
use tempfile::TempDir;

use crate::programs;
use crate::repository;

const USAGE: &str = "usage: cargo xtask lake-engines [--mb N[,N…]] [--program PATH] [--write]
       cargo xtask lake-kills [--kills N] [--program PATH] [--write]

  --mb       how many megabytes of logs the tables are made of [default: 50]; several sizes show growth
  --kills    how often a builder or an optimizer is killed [default: 100]
  --program  a recto with the feature `lake` that is built already
  --write    write the result to bench/LAKE.md";

struct Wanted {
    megabytes: Vec<u64>,
    kills: u64,
    program: PathBuf,
    write: bool,
}

fn read(words: &[String]) -> anyhow::Result<Wanted> {
    let mut wanted =
        Wanted { megabytes: vec![50], kills: 100, program: PathBuf::new(), write: false };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| USAGE.to_owned());
        match word.as_str() {
            "--mb" => {
                let sizes = value()?.split(',').map(str::parse);
                wanted.megabytes = sizes.collect::<Result<_, _>>()?;
            }
            "--kills" => wanted.kills = value()?.parse()?,
            "--program" => wanted.program = fs::canonicalize(value()?)?,
            "--write" => wanted.write = true,
            _ => bail!("{USAGE}"),
        }
    }
    if wanted.program.as_os_str().is_empty() {
        let build = ["build", "--package", "recto", "--features", "lake"];
        if !Command::new(repository::cargo()).args(build).status()?.success() {
            bail!("recto could not be built");
        }
        wanted.program = repository::target().join("debug/recto");
    }
    Ok(wanted)
}

/// A home, and the program that works on it.
struct Desk {
    folder: TempDir,
    program: PathBuf,
}

impl Desk {
    fn new(program: &Path) -> anyhow::Result<Desk> {
        let folder = TempDir::with_prefix("recto-lake-")?;
        fs::create_dir_all(folder.path().join("made/.claude/projects"))?;
        fs::create_dir_all(folder.path().join("config/recto"))?;
        fs::write(folder.path().join("config/recto/collect.toml"), "redact = \"off\"\n")?;
        Ok(Desk { folder, program: program.to_owned() })
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("made/.claude")
    }

    fn environment(&self, command: &mut Command) {
        let below = |name: &str| self.folder.path().join(name);
        command
            .env("HOME", below("user"))
            .env("CLAUDE_CONFIG_DIR", self.home())
            .env("RECTO_DATA_DIR", below("data"))
            .env("RECTO_CACHE_DIR", below("cache"))
            .env("XDG_CONFIG_HOME", below("config"))
            .env("USER", "dev")
            .env("AWS_ACCESS_KEY_ID", "any")
            .env("AWS_SECRET_ACCESS_KEY", "any");
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        self.environment(&mut command);
        command.args(words).stdout(Stdio::null());
        command
    }

    /// Fills the home with logs; says how many bytes they have.
    fn generate(&self, megabytes: u64) -> anyhow::Result<u64> {
        let made = self.folder.path().join("made");
        fs::remove_dir_all(&made)?;
        let options = Options { megabytes, seed: 1, shape: Shape::Mixed };
        generate(&options, &made, &mut |_| {})?;
        log_bytes(&made)
    }

    /// Appends a line to a log that has a row in every table.
    fn write_line(&self, uuid: &str) -> anyhow::Result<()> {
        let log = self.home().join(LOG);
        fs::create_dir_all(log.parent().context("a log has a folder")?)?;
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&log)?;
        writeln!(
            file,
            r#"{{"type":"assistant","uuid":"{uuid}","timestamp":"2026-11-02T10:00:00.000Z","message":{{"id":"msg_{uuid}","role":"assistant","model":"claude-opus-5-5","content":[{{"type":"text","text":"{uuid}"}}],"stop_reason":"end_turn","usage":{{"input_tokens":1,"output_tokens":2}}}}}}"#
        )?;
        Ok(())
    }

    /// A store in a directory.
    fn store(&self) -> String {
        self.folder.path().join("store").display().to_string()
    }

    fn run(&self, words: &[&str]) -> anyhow::Result<()> {
        match self.command(words).status()?.success() {
            true => Ok(()),
            false => bail!("recto {} failed", words.join(" ")),
        }
    }
}

/// The log that gets lines one by one.
const LOG: &str = "projects/-w/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.jsonl";

fn log_bytes(folder: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        if about.is_dir() {
            bytes += log_bytes(&entry.path())?;
        } else if entry.path().extension().is_some_and(|end| end == "jsonl") {
            bytes += about.len();
        }
    }
    Ok(bytes)
}

fn python(desk: &Desk, wheels: &Path) -> Command {
    let mut command = Command::new("python3");
    desk.environment(&mut command);
    command.env("PYTHONPATH", wheels).env("SPARK_LOCAL_IP", "127.0.0.1");
    command
}

/// A Spark master and two workers; they end with this.
struct Cluster(Vec<Child>);

impl Cluster {
    fn start(desk: &Desk, wheels: &Path) -> anyhow::Result<(String, Cluster)> {
        let [port, page] = free_ports::<2>()?;
        let address = format!("spark://127.0.0.1:{port}");
        let home = wheels.join("pyspark");
        let mut started = Cluster(Vec::new());
        let class = |name: &str| {
            let mut command = Command::new(home.join("bin/spark-class"));
            desk.environment(&mut command);
            command.env("SPARK_HOME", &home).env("SPARK_LOCAL_IP", "127.0.0.1");
            command.arg(format!("org.apache.spark.deploy.{name}")).args(["--host", "127.0.0.1"]);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            command
        };
        let mut master = class("master.Master");
        master.args(["--port", &port.to_string(), "--webui-port", &page.to_string()]);
        started.0.push(master.spawn()?);
        wait_for(port)?;
        for number in 0..2 {
            let [page] = free_ports::<1>()?;
            let mut worker = class("worker.Worker");
            worker.args(["-c", "1", "-m", "1500M", "--webui-port", &page.to_string(), "-d"]);
            worker.arg(desk.folder.path().join(format!("worker-{number}"))).arg(&address);
            started.0.push(worker.spawn()?);
        }
        Ok((address, started))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for child in self.0.iter_mut().rev() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn free_ports<const COUNT: usize>() -> anyhow::Result<[u16; COUNT]> {
    let mut ports = [0; COUNT];
    let mut held = Vec::new();
    for port in &mut ports {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        *port = listener.local_addr()?.port();
        held.push(listener);
    }
    Ok(ports)
}

fn wait_for(port: u16) -> anyhow::Result<()> {
    let until = Instant::now() + Duration::from_secs(180);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if Instant::now() > until {
            bail!("nothing listens on port {port}");
        }
        thread::sleep(Duration::from_millis(200));
    }
    Ok(())
}

/// SeaweedFS, with a bucket.
fn start_store(desk: &Desk) -> anyhow::Result<(Cluster, String)> {
    let weed = programs::find_weed().context("pip could not install SeaweedFS")?;
    let directory = desk.folder.path().join("weed");
    fs::create_dir_all(&directory)?;
    let names = ["master", "volume", "filer", "s3"];
    let ports = free_ports::<8>()?;
    let mut command = Command::new(weed);
    desk.environment(&mut command);
    // With credentials of its own it would refuse the request that makes the bucket.
    command.env_remove("AWS_ACCESS_KEY_ID").env_remove("AWS_SECRET_ACCESS_KEY");
    command.args(["server", "-s3", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"]);
    // Two stores on one machine would want the same ports for these.
    command.args(["-s3.port.iceberg=0", "-s3.port.lance=0"]);
    command.arg(format!("-dir={}", directory.display()));
    for (at, name) in names.iter().enumerate() {
        command.arg(format!("-{name}.port={}", ports[2 * at]));
        command.arg(format!("-{name}.port.grpc={}", ports[2 * at + 1]));
    }
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let store = Cluster(vec![command.spawn()?]);
    let port = ports[6];
    let until = Instant::now() + Duration::from_secs(120);
    while !has_bucket(port) {
        if Instant::now() > until {
            bail!("the store does not come up");
        }
        thread::sleep(Duration::from_millis(300));
    }
    Ok((store, format!("http://127.0.0.1:{port}")))
}

fn has_bucket(port: u16) -> bool {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return false };
    let head = format!(
        "PUT /team HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    let mut answer = String::new();
    stream.write_all(head.as_bytes()).is_ok()
        && BufReader::new(stream).read_line(&mut answer).is_ok()
        && (answer.contains(" 200 ") || answer.contains(" 409 "))
}
