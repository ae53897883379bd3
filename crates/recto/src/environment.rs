//! Every environment variable that recto reads, in one place.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use jiff::tz::TimeZone;
use recto_session::usage::PriceTable;
use recto_store::CacheDirectory;
use recto_store::CacheSource;
use recto_store::DataDirectory;
use recto_store::DataSource;
use recto_store::Home;
use recto_store::StoreError;
use recto_view::Library;
use recto_view::LibraryOptions;

use crate::terminal::keymap::Keymap;

/// A text that is never shown.
#[derive(Clone)]
pub(crate) struct Secret(String);

impl Secret {
    /// The text itself.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// What the environment says about stores. Some of it is secret.
#[derive(Clone, Default)]
pub(crate) struct CloudVariables(Vec<(String, String)>);

impl CloudVariables {
    fn from_process() -> CloudVariables {
        let is_of_store = |name: &str| {
            ["AWS_", "GOOGLE_", "AZURE_"].iter().any(|prefix| name.starts_with(prefix))
        };
        let known = env::vars_os().filter_map(|(name, value)| {
            let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
            (is_of_store(&name) && !value.is_empty()).then_some((name, value))
        });
        CloudVariables(known.collect())
    }
}

impl std::ops::Deref for CloudVariables {
    type Target = [(String, String)];

    fn deref(&self) -> &[(String, String)] {
        &self.0
    }
}

impl fmt::Debug for CloudVariables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// What the environment says about a session of our own.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunEnvironment {
    /// `ANTHROPIC_BASE_URL`: the endpoint.
    pub(crate) base_url: Option<String>,
    /// `ANTHROPIC_MODEL`: the model.
    pub(crate) model: Option<String>,
    /// `CLAUDE_CODE_MAX_RETRIES`: how often an endpoint that fails is asked again.
    pub(crate) max_retries: Option<u32>,
    /// `CLAUDE_CODE_MAX_OUTPUT_TOKENS`: the most tokens of an answer.
    pub(crate) max_output_tokens: Option<u64>,
    /// `MAX_THINKING_TOKENS`: how much the model may think on older models, 0 for not at all.
    pub(crate) max_thinking_tokens: Option<u64>,
    /// `CLAUDE_CODE_ENTRYPOINT`: who starts sessions, as SDKs say.
    pub(crate) entrypoint: Option<String>,
    /// `CLAUDE_CODE_SDK_READS_SESSION_STATE`: an SDK wants to know what the session does.
    pub(crate) reads_state: bool,
    /// `CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS`: somebody else does.
    pub(crate) emits_state: bool,
    /// `CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING`: an SDK may set files back.
    pub(crate) may_rewind: bool,
    /// `CLAUDE_CODE_AUTO_COMPACT_WINDOW`: a window that is smaller than the model's.
    pub(crate) window: Option<u64>,
    /// `SHELL`, if it is one that can run commands.
    pub(crate) shell: PathBuf,
    /// Where output of background tasks goes.
    pub(crate) temporary: PathBuf,
    /// Whether this program was called by the name of the client.
    pub(crate) is_client: bool,
}

impl RunEnvironment {
    fn from_process() -> RunEnvironment {
        let text = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let number = |name: &str| text(name).and_then(|text| text.parse::<u64>().ok());
        let is_on = |name: &str| text(name).is_some_and(|value| value != "0");
        let shell = text("SHELL").map(PathBuf::from);
        let can_run = |path: &PathBuf| path.ends_with("bash") || path.ends_with("zsh");
        let user = user_number();
        RunEnvironment {
            base_url: text("ANTHROPIC_BASE_URL"),
            model: text("ANTHROPIC_MODEL"),
            max_retries: number("CLAUDE_CODE_MAX_RETRIES").and_then(|most| most.try_into().ok()),
            max_output_tokens: number("CLAUDE_CODE_MAX_OUTPUT_TOKENS"),
            max_thinking_tokens: number("MAX_THINKING_TOKENS"),
            entrypoint: text("CLAUDE_CODE_ENTRYPOINT").map(|name| format!("recto-{name}")),
            reads_state: is_on("CLAUDE_CODE_SDK_READS_SESSION_STATE"),
            emits_state: is_on("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"),
            may_rewind: text("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING")
                .is_some_and(|value| value != "0" && value != "false"),
            window: number("CLAUDE_CODE_AUTO_COMPACT_WINDOW").filter(|tokens| *tokens > 0),
            shell: shell.filter(can_run).unwrap_or_else(|| PathBuf::from("/bin/bash")),
            temporary: env::temp_dir().join(format!("claude-{user}")),
            is_client: is_client(),
        }
    }
}

/// Whether this program was called by the name of the client.
fn is_client() -> bool {
    let name = env::args_os().next().map(PathBuf::from);
    name.is_some_and(|name| name.file_stem().is_some_and(|stem| stem == "claude"))
}

/// The number of the user, which names a directory.
#[cfg(unix)]
fn user_number() -> u32 {
    rustix::process::getuid().as_raw()
}

#[cfg(not(unix))]
fn user_number() -> u32 {
    0
}

/// What the environment says.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    /// `CLAUDE_CONFIG_DIR`: the client's home, in place of `~/.claude`.
    pub(crate) config_dir: Option<PathBuf>,
    /// `HOME` (`USERPROFILE` on Windows): where `.claude` is.
    pub(crate) user_home: Option<PathBuf>,
    /// `XDG_DATA_HOME`: the data of all programs, in place of `~/.local/share`.
    pub(crate) data_home: Option<PathBuf>,
    /// `RECTO_DATA_DIR`: recto's own data, in place of `recto` in the above.
    pub(crate) data_dir: Option<PathBuf>,
    /// `XDG_CACHE_HOME`: the caches of all programs, in place of `~/.cache`.
    pub(crate) cache_home: Option<PathBuf>,
    /// `RECTO_CACHE_DIR`: the index, in place of `recto` in the above.
    pub(crate) cache_dir: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`: the settings of all programs, in place of `~/.config`.
    pub(crate) config_home: Option<PathBuf>,
    /// `XDG_RUNTIME_DIR`: files of this login; then the directory of temporary files.
    pub(crate) runtime_directories: Vec<PathBuf>,
    /// `RECTO_PRICES`: a file of prices, in place of `prices.toml` in recto's settings.
    pub(crate) prices: Option<PathBuf>,
    /// `SESSION_CONTEXT`: `session_id=…`, set by some hooks.
    pub(crate) session_context: Option<String>,
    /// `RECTO_PAGER`, else `PAGER`: the program that shows long text.
    pub(crate) pager: Option<String>,
    /// `RECTO_CLIENT`: the client that the browser resumes sessions with, in place of
    /// `claude`.
    pub(crate) client: Option<String>,
    /// Whether recto itself resumes sessions, as `config.toml` says.
    pub(crate) resumes_itself: bool,
    /// Whether the console's editor has the keys of vi.
    pub(crate) has_vi_keys: bool,
    /// `ANTHROPIC_API_KEY`: the key that `recto replay --endpoint` sends.
    pub(crate) api_key: Option<Secret>,
    /// `ANTHROPIC_AUTH_TOKEN`: a bearer token, in place of a key.
    pub(crate) auth_token: Option<Secret>,
    /// `RECTO_ENDPOINTS`: what endpoints accept, in place of `endpoints.toml` in recto's
    /// settings.
    pub(crate) endpoints: Option<PathBuf>,
    /// What it says about a session of our own.
    pub(crate) run: RunEnvironment,
    /// `RECTO_SEARCH_BYTES`: so much of what is not in the index is read before `recto search`
    /// answers from the newest logs.
    pub(crate) search_bytes: Option<u64>,
    /// `RECTO_COLUMNS`: lay out output for a terminal of this width, also in a pipe.
    pub(crate) columns: Option<usize>,
    /// `USER` (`USERNAME` on Windows): who a machine says its user is, in a store.
    pub(crate) user_name: Option<String>,
    /// `AWS_…`, `GOOGLE_…`, `AZURE_…`: credentials, regions and endpoints of stores.
    pub(crate) cloud: CloudVariables,
    /// `OTEL_EXPORTER_OTLP_HEADERS`: headers for a collector of telemetry, such as a key.
    #[cfg_attr(not(feature = "cloud"), allow(dead_code))]
    pub(crate) otlp_headers: Option<Secret>,
    /// `NO_COLOR`: no colour, whatever the terminal can do.
    pub(crate) no_color: bool,
    /// `TERM=dumb`: no colour and no pager.
    pub(crate) dumb_terminal: bool,
    /// `RECTO_PLAIN`: the console prints lines and draws nothing.
    pub(crate) plain: bool,
    /// `RECTO_TEST_HOME_GUARD`: a test runs; a home must be named.
    pub(crate) in_test: bool,
    /// `TMUX`: recto runs in a pane of tmux, so that it can go to another one.
    pub(crate) in_tmux: bool,
    /// Keys of the browser and the board that `config.toml` names.
    pub(crate) keymap: Keymap,
    /// Where the program was started; not a variable, but of the same nature.
    pub(crate) working_directory: Option<PathBuf>,
    /// `RECTO_NOW`: the time to take for now, so that output can be compared.
    pub(crate) now: Option<String>,
}

impl Environment {
    pub(crate) fn from_process() -> Environment {
        let text = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let path =
            |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Environment {
            config_dir: path("CLAUDE_CONFIG_DIR"),
            user_home: path(if cfg!(windows) { "USERPROFILE" } else { "HOME" }),
            data_home: path("XDG_DATA_HOME"),
            data_dir: path("RECTO_DATA_DIR"),
            cache_home: path("XDG_CACHE_HOME"),
            cache_dir: path("RECTO_CACHE_DIR"),
            config_home: path("XDG_CONFIG_HOME"),
            runtime_directories: path("XDG_RUNTIME_DIR")
                .into_iter()
                .chain([env::temp_dir()])
                .collect(),
            prices: path("RECTO_PRICES"),
            session_context: text("SESSION_CONTEXT"),
            pager: text("RECTO_PAGER").or_else(|| text("PAGER")),
            client: text("RECTO_CLIENT"),
            resumes_itself: false,
            has_vi_keys: false,
            api_key: text("ANTHROPIC_API_KEY").map(Secret),
            auth_token: text("ANTHROPIC_AUTH_TOKEN").map(Secret),
            endpoints: path("RECTO_ENDPOINTS"),
            run: RunEnvironment::from_process(),
            search_bytes: text("RECTO_SEARCH_BYTES").and_then(|bytes| bytes.parse().ok()),
            columns: text("RECTO_COLUMNS").and_then(|columns| columns.parse().ok()),
            user_name: text(if cfg!(windows) { "USERNAME" } else { "USER" }),
            cloud: CloudVariables::from_process(),
            otlp_headers: text("OTEL_EXPORTER_OTLP_HEADERS").map(Secret),
            no_color: text("NO_COLOR").is_some(),
            // On Unix, every terminal that can be drawn on says what it is.
            dumb_terminal: match text("TERM") {
                Some(name) => name == "dumb",
                None => cfg!(unix),
            },
            plain: text("RECTO_PLAIN").is_some_and(|value| value != "0"),
            in_test: text("RECTO_TEST_HOME_GUARD").is_some(),
            in_tmux: text("TMUX").is_some(),
            keymap: Keymap::default(),
            working_directory: env::current_dir().ok(),
            now: text("RECTO_NOW"),
        }
    }

    /// A variable that a configuration of the user names.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        env::var(name).ok()
    }

    /// The file that says what endpoints accept; it need not exist.
    pub(crate) fn endpoints_file(&self) -> Option<PathBuf> {
        self.endpoints.clone().or_else(|| self.settings_file("endpoints.toml"))
    }

    /// A file of recto's settings; it need not exist.
    pub(crate) fn settings_file(&self, name: &str) -> Option<PathBuf> {
        let user = self.user_home.as_ref().map(|home| home.join(".config"));
        Some(self.config_home.clone().or(user)?.join("recto").join(name))
    }

    /// Whether JSON was asked for, where the command line could not be read.
    pub(crate) fn wants_json() -> bool {
        let is_json = |word: OsString| {
            word.to_str().is_some_and(|word| word == "--json" || word.starts_with("--json="))
        };
        env::args_os().skip(1).take_while(|word| word != "--").any(is_json)
    }

    /// The policy and the command, where this process was started to run one confined.
    pub(crate) fn confined_command() -> Option<(String, Vec<OsString>)> {
        let mut words = env::args_os().skip(1);
        if words.next()? != recto_agent::sandbox::SUBCOMMAND {
            return None;
        }
        let policy = words.next()?.into_string().ok()?;
        let command = words.skip_while(|word| word == "--").collect();
        Some((policy, command))
    }

    /// Where this program is.
    pub(crate) fn program() -> std::io::Result<PathBuf> {
        env::current_exe()
    }

    /// Where recto keeps its own data.
    pub(crate) fn data_directory(&self) -> Result<DataDirectory, StoreError> {
        let source = DataSource {
            explicit: self.data_dir.clone(),
            data_home: self.data_home.clone(),
            user_home: self.user_home.clone(),
            in_test: self.in_test,
        };
        source.directory()
    }

    /// Where recto keeps what can be made again.
    pub(crate) fn cache_directory(&self) -> Result<CacheDirectory, StoreError> {
        let source = CacheSource {
            explicit: self.cache_dir.clone(),
            cache_home: self.cache_home.clone(),
            user_home: self.user_home.clone(),
            in_test: self.in_test,
        };
        source.directory()
    }

    /// Where the tables are that `recto query` has loaded.
    pub(crate) fn table_directory(&self) -> Result<PathBuf, StoreError> {
        Ok(self.cache_directory()?.root().join("query"))
    }

    /// Answers questions about a home. Without a directory of its own recto answers what it can.
    pub(crate) fn library(&self, home: &Home, prices: PriceTable) -> Library {
        self.library_in(home, prices, None)
    }

    /// The same, with days of another zone than the system's.
    pub(crate) fn library_in(
        &self,
        home: &Home,
        prices: PriceTable,
        zone: Option<TimeZone>,
    ) -> Library {
        Library::new(LibraryOptions {
            home: home.clone(),
            cache: self.cache_directory().ok(),
            data: self.data_directory().ok(),
            prices,
            zone,
            now: self.fixed_now(),
        })
    }

    pub(crate) fn now(&self) -> jiff::Timestamp {
        self.fixed_now().unwrap_or_else(jiff::Timestamp::now)
    }

    /// The time that `RECTO_NOW` names.
    pub(crate) fn fixed_now(&self) -> Option<jiff::Timestamp> {
        self.now.as_deref().and_then(|text| text.parse().ok())
    }
}
