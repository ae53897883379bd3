//! Options to a [`Setup`].

use std::path::Path;
use std::path::PathBuf;

use recto_agent::api::ApiError;
use recto_agent::api::Client;
use recto_agent::permission::CommandLine;
use recto_agent::permission::Mode;
use recto_agent::permission::split_list;
use recto_agent::sandbox::Sandbox;
use recto_agent::sandbox::SandboxPlaces;
use recto_agent::settings::Settings;
use recto_agent::settings::Wanted;
use recto_agent::turn::LogStyle;
use recto_agent::turn::OutputSchema;
use recto_agent::turn::Setup;
use recto_agent::turn::With;
use recto_log::SessionId;
use recto_store::Home;
use recto_store::Scope;
use recto_store::without_dots;
use serde_json::Value;
use serde_json::json;

use super::Refused;
use super::choose::choose;
use super::endpoint;
use crate::commands::run::RunOptions;
use crate::environment::Environment;
use crate::error::CommandError;

/// A session that can start.
pub(crate) struct Prepared {
    pub(crate) setup: Option<Setup>,
    pub(crate) session: SessionId,
    pub(crate) key_source: &'static str,
}

pub(crate) fn prepare(
    home: &Home,
    environment: &Environment,
    options: &RunOptions,
) -> Result<Prepared, Refused> {
    let usage = |text: String| Refused::Usage(text);
    let budget = budget(options)?;
    let schema = schema(options)?;
    let mode = mode(options)?;
    let project = environment.working_directory.clone().unwrap_or_else(|| PathBuf::from("/"));
    let wanted = match &options.setting_sources {
        Some(text) => Wanted::parse(text).map_err(|error| usage(format!("Error: {error}")))?,
        None => Wanted::default(),
    };
    let settings = Settings::read(home, &project, wanted, options.settings.as_deref())
        .map_err(|error| usage(format!("Error: {error}")))?;
    for problem in settings.problems() {
        let text = format!("{}: {}; it sets nothing", problem.path.display(), problem.message);
        crate::terminal::output::remark(&crate::terminal::text::one_line(&text));
    }
    let servers =
        super::servers::servers(environment, options, &settings, &project, wanted.project)?;
    let with = With {
        is_hosted: options.input_format == "stream-json",
        permission_tool: options.permission_prompt_tool.clone(),
        servers,
        agents: super::servers::agents(options)?,
        agent: options.agent.clone(),
        title: options.name.clone(),
        own_window: environment.run.window,
        mirrors: options.session_mirror,
        plugins: options.plugin_dir.iter().map(|path| project.join(path)).collect(),
        sandbox: sandbox(home, environment, options, &project)?,
    };
    let model = options.model.clone().or_else(|| environment.run.model.clone());
    let asked = model.clone().or_else(|| settings.model().map(str::to_owned));
    let chosen = choose(home, environment, options, asked.as_deref())?;
    let url = options.base_url.clone().or_else(|| environment.run.base_url.clone());
    let url = url.unwrap_or_else(|| endpoint::USUAL.to_owned());
    let (mut endpoint, key_source) = endpoint::endpoint(environment, &url, options.ca.as_deref())?;
    if let Some(most) = environment.run.max_retries {
        endpoint.retries.most = most;
    }
    // Clients give up, or ask another model, at the third time.
    endpoint.retries.most_overloaded = 2;
    endpoint.retries.after_refused_key = environment.run.is_client;
    endpoint.retries.after_refused_request = if environment.run.is_client { 5 } else { 0 };
    let client = Client::new(endpoint).map_err(|error: ApiError| CommandError::from(error))?;
    let user_home = environment.user_home.clone().unwrap_or_else(|| PathBuf::from("/"));
    let managed = home.settings_files(Some(&project)).into_iter();
    let managed =
        managed.filter(|(scope, _)| *scope == Scope::Managed).map(|(_, path)| path).next();
    let session = chosen.session;
    let setup = Setup {
        home: home.clone(),
        user_home,
        temporary: environment.run.temporary.clone(),
        shell: environment.run.shell.clone(),
        client,
        settings,
        wanted,
        managed_instructions: managed.unwrap_or_default().with_file_name("CLAUDE.md"),
        permissions: CommandLine {
            mode,
            allowed: lists(&options.allowed_tools),
            disallowed: lists(&options.disallowed_tools),
            no_prompts: options.permission_prompts.as_deref() == Some("none"),
        },
        directories: added_directories(environment, options, &project),
        tools: tools(options),
        model,
        fallback_model: options.fallback_model.clone(),
        session,
        log: chosen.log,
        resumed: chosen.resumed,
        copied: chosen.copied,
        keeps_log: !options.no_session_persistence,
        style: match options.log_style.as_str() {
            "2.1.29" => LogStyle::V2_1_29,
            _ => LogStyle::Newest,
        },
        keeps_files: true,
        entrypoint: environment.run.entrypoint.clone().unwrap_or_else(|| "recto".to_owned()),
        system_prompt: text_or_file(
            &project,
            options.system_prompt.as_ref(),
            options.system_prompt_file.as_deref(),
            "System prompt",
        )?,
        append_system_prompt: text_or_file(
            &project,
            options.append_system_prompt.as_ref(),
            options.append_system_prompt_file.as_deref(),
            "Append system prompt",
        )?,
        // None at all is no limit, as clients have it.
        max_turns: options.max_turns.filter(|most| *most > 0),
        budget,
        schema,
        task_budget: options.task_budget,
        effort: options.effort.clone(),
        thinking: thinking(options, environment),
        max_tokens: environment.run.max_output_tokens,
        betas: lists(&options.betas),
        asker: None,
        prices: None,
        is_attended: false,
        with,
        project,
    };
    Ok(Prepared { setup: Some(setup), session, key_source })
}

/// Whether commands shall be confined: on a terminal unless that is turned off; for scripts and
/// under the name of the client only if it is asked for, because they expect what the client does.
pub(super) fn wants_sandbox(environment: &Environment, options: &RunOptions) -> bool {
    let is_console =
        !options.print && options.input_format == "text" && options.output_format == "text";
    options.sandbox || (is_console && !options.no_sandbox && !environment.run.is_client)
}

/// `--add-dir`, absolute: what is relative is so to the project, and `~` is the home directory.
fn added_directories(
    environment: &Environment,
    options: &RunOptions,
    project: &Path,
) -> Vec<PathBuf> {
    let absolute = |path: &PathBuf| match (path.strip_prefix("~"), &environment.user_home) {
        (Ok(rest), Some(home)) => without_dots(&home.join(rest)),
        _ => without_dots(&project.join(path)),
    };
    options.add_dir.iter().map(absolute).collect()
}

fn sandbox(
    home: &Home,
    environment: &Environment,
    options: &RunOptions,
    project: &Path,
) -> Result<Option<recto_agent::sandbox::Shared>, Refused> {
    if !wants_sandbox(environment, options) {
        return Ok(None);
    }
    let added = added_directories(environment, options, project);
    let temporary = [environment.run.temporary.clone(), "/tmp".into(), "/var/tmp".into()];
    let places = SandboxPlaces {
        program: Environment::program()?,
        home: environment.user_home.clone().unwrap_or_default(),
        config: home.root().to_owned(),
        directories: [project.to_owned()].into_iter().chain(added).collect(),
        temporary: temporary.into(),
        domains: lists(&options.allow_domain),
    };
    Ok(Some(Sandbox::new(places)?.into()))
}

fn budget(options: &RunOptions) -> Result<Option<f64>, Refused> {
    let Some(text) = &options.max_budget_usd else { return Ok(None) };
    match text.parse::<f64>().ok().filter(|amount| *amount > 0.0 && amount.is_finite()) {
        Some(amount) => Ok(Some(amount)),
        None => Err(Refused::Usage(format!(
            "error: option '--max-budget-usd <amount>' argument '{text}' is invalid. --max-budget-usd must be a positive number greater than 0"
        ))),
    }
}

fn schema(options: &RunOptions) -> Result<Option<OutputSchema>, Refused> {
    let Some(text) = &options.json_schema else { return Ok(None) };
    let parsed: Value = serde_json::from_str(text).map_err(|error| {
        Refused::Usage(format!("Error: --json-schema is not valid JSON: {error}"))
    })?;
    match OutputSchema::new(parsed) {
        Some(schema) => Ok(Some(schema)),
        None => Err(Refused::Usage("Error: --json-schema must be a JSON object".to_owned())),
    }
}

fn mode(options: &RunOptions) -> Result<Option<Mode>, Refused> {
    if options.dangerously_skip_permissions {
        return Ok(Some(Mode::BypassPermissions));
    }
    let Some(name) = &options.permission_mode else { return Ok(None) };
    match Mode::parse(name) {
        Some(mode) => Ok(Some(mode)),
        None => Err(Refused::Usage(format!(
            "error: option '--permission-mode <mode>' argument '{name}' is invalid. Allowed choices are acceptEdits, auto, bypassPermissions, default, dontAsk, manual, plan."
        ))),
    }
}

/// Lists are words, or words with commas.
fn lists(words: &[String]) -> Vec<String> {
    words.iter().flat_map(|word| split_list(word)).collect()
}

fn tools(options: &RunOptions) -> Option<Vec<String>> {
    let names = lists(options.tools.as_ref()?);
    (names != ["default"]).then_some(names)
}

fn thinking(options: &RunOptions, environment: &Environment) -> Option<recto_agent::wire::Json> {
    let most = options.max_thinking_tokens.or(environment.run.max_thinking_tokens);
    match (options.thinking.as_deref(), most) {
        (Some("disabled"), _) | (_, Some(0)) => Some(json!({"type": "disabled"}).into()),
        (Some("enabled"), None) => Some(json!({"type": "enabled", "budget_tokens": 8_000}).into()),
        (_, Some(tokens)) => Some(json!({"type": "enabled", "budget_tokens": tokens}).into()),
        (_, None) => None,
    }
}

fn text_or_file(
    project: &Path,
    text: Option<&String>,
    file: Option<&Path>,
    name: &str,
) -> Result<Option<String>, Refused> {
    match (text, file) {
        (Some(text), _) => Ok(Some(text.clone())),
        (None, Some(path)) => {
            let path = project.join(path);
            let bytes = recto_store::read_chosen(&path).map_err(|_| {
                Refused::Usage(format!("Error: {name} file not found: {}", path.display()))
            })?;
            Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
        }
        (None, None) => Ok(None),
    }
}
