//! What the model reads when a call does not run. Scripts and models know these sentences, so
//! they are the client's.

use crate::permission::shell::script::Doubt;

pub(crate) fn not_granted(what: &str) -> String {
    format!("Claude requested permissions to {what}, but you haven't granted it yet.")
}

/// A rule of the user's that asks is not answered by another one.
pub(crate) fn execute_skill(name: &str, can_be_allowed: bool) -> String {
    let hint = match can_be_allowed {
        true => format!(
            ". The user can add the allow rule Skill({name}) to .claude/settings.local.json to let it run without asking."
        ),
        false => String::new(),
    };
    format!("Execute skill: {name}{hint}")
}

pub(crate) fn sensitive(path: &str) -> String {
    format!("Claude requested permissions to edit {path} which is a sensitive file.")
}

pub(crate) fn no_such_tool(tool: &str) -> String {
    // Tools of a server are gone without a word about it.
    let disabled = match tool.starts_with("mcp__") {
        true => String::new(),
        false => format!(". {tool} is disabled for this session, in subagents as well as here."),
    };
    tool_use_error(&format!("Error: No such tool available: {tool}{disabled}"))
}

pub(crate) fn tool_use_error(text: &str) -> String {
    format!("<tool_use_error>{text}</tool_use_error>")
}

pub(crate) fn command_denied(command: &str) -> String {
    format!("Permission to use Bash with command {command} has been denied.")
}

pub(crate) fn dont_ask(tool: &str) -> String {
    format!(
        "Permission to use {tool} has been denied because Claude Code is running in don't ask mode. IMPORTANT: You *may* attempt to accomplish this action using other tools that might naturally be used to accomplish this goal, e.g. using head instead of cat. But you *should not* attempt to work around this denial in malicious ways, e.g. do not use your ability to run tests to execute non-test actions. You should only try to work around this restriction in reasonable ways that do not attempt to bypass the intent behind this denial. If you believe this capability is essential to complete the user's request, STOP and explain to the user what you were trying to do and why you need this permission. Let the user decide how to proceed."
    )
}

pub(crate) fn auto_mode_unavailable(tool: &str) -> String {
    format!(
        "Auto mode is unavailable: its safety check does not run for this session, so {tool} was not run. Other actions that need the check will be denied too, and retrying won't help. Finish what you can without them, then tell the user what is blocked and that they can switch to another permission mode."
    )
}

pub(crate) fn nobody_to_ask(what: &str, why: Option<&str>) -> String {
    let why = why.map(|why| format!(" {why}")).unwrap_or_default();
    format!(
        "Permission for this tool use was denied. It requires approval, and this session has no approval surface — nobody can answer a permission prompt here — so it was denied automatically. The action was NOT performed; do not claim it succeeded, and do not retry it: this action, and anything else that requires approval, will be denied the same way for the rest of this session. Tell the user what was blocked and why you needed it, then continue with the parts of the task that do not require approval. What required approval: {what}{why}"
    )
}

pub(crate) fn blocked_read(name: &str, path: &str, verb: &str, directories: &str) -> String {
    format!(
        "{name} in '{path}' was blocked. For security, Claude Code may only {verb} the allowed working directories for this session: {directories}."
    )
}

pub(crate) fn write_needs_approval(what: &str, inside: bool, directories: &str) -> String {
    match inside {
        true => format!(
            "{what} needs approval. The path is inside the working directories for this session ({directories}), and Claude Code asks before a shell command creates, changes or removes files there."
        ),
        false => format!(
            "{what} needs approval. The path is outside the working directories for this session ({directories}). Allowing runs the command as written."
        ),
    }
}

pub(crate) fn parts(texts: &[String]) -> String {
    let (noun, verb) = if texts.len() == 1 { ("part", "requires") } else { ("parts", "require") };
    format!(
        "This Bash command contains multiple operations. The following {noun} {verb} approval: {}",
        texts.join(", ")
    )
}

pub(crate) fn dangerous_removal(name: &str, path: &str, what: &str) -> String {
    format!(
        "Dangerous {name} operation detected: '{path}'\n\nThis command would remove {what}. This requires explicit approval and cannot be auto-allowed by permission rules."
    )
}

pub(crate) fn unresolved_removal(name: &str, path: &str) -> String {
    format!(
        "Dangerous {name} operation detected: '{path}'\n\nThis command's removal target cannot be statically resolved to a directory. This requires explicit approval and cannot be auto-allowed by permission rules."
    )
}

pub(crate) const PRINTED_REMOVAL: &str = "Dangerous rm operation detected: the target is the output of a command substitution (`$(...)` or backticks) and cannot be checked before the command runs. This requires explicit approval and cannot be auto-allowed by permission rules.\n\nRun the substitution on its own first, then remove the literal paths it prints.";

pub(crate) fn variable_removal(name: &str, command: &str, target: &str, variable: &str) -> String {
    let (open, close) = if target.starts_with('"') { ("", "") } else { ("\"", "\"") };
    let guarded = format!("{open}${{{variable}:?}}{close}");
    let in_braces = format!("${{{variable}}}");
    let spelled = match target.contains(&in_braces) {
        true => in_braces,
        false => format!("${variable}"),
    };
    let safe = target.replacen(&spelled, &guarded, 1);
    format!(
        "Dangerous {name} operation detected in `{command}`. The target '{target}' is a shell variable expansion: when ${variable} is unset or empty it becomes `/`, `/*` or a top-level path. This requires explicit approval and cannot be auto-allowed by permission rules.\n\nThis check does not fire on a target that cannot expand to the filesystem root: rewrite it as `{safe}`, which makes the shell stop with an error instead of running {name} when ${variable} is unset or empty, or use a literal absolute path."
    )
}

pub(crate) fn removal_denied(what: &str) -> String {
    format!(
        "Permission for this command was denied by a built-in Claude Code safety check, not by the user. The check stops removals that can delete far more than intended: a system, home or workspace directory, or a target it cannot resolve, such as a shell variable that, if unset or empty, turns this into `rm -rf /` or `rm -rf /*`. Only a person may approve such a removal, and no person did (the permission prompt timed out, or none was shown). The command was NOT run; do not claim it succeeded. Do not work around the check by splitting, scripting, or re-issuing the removal through another tool or shell: the check exists because a removal like this can destroy the user's data, and getting past it would not make it safe. If the text below suggests a safe rewrite, run that instead; it goes through the same check. Otherwise finish the rest of the task without this removal, tell the user what you wanted to delete and why, and leave the removal to them. What was flagged: {what}"
    )
}

pub(crate) fn blocked_input(path: &str, directories: &str) -> String {
    format!(
        "Input redirection from '{path}' was blocked. For security, Claude Code may only read files in the allowed working directories for this session: {directories}."
    )
}

pub(crate) fn denied_path(name: &str, path: &str, writes: bool) -> String {
    let direction = if writes { "to" } else { "from" };
    format!("{name} {direction} '{path}' was blocked by a deny rule.")
}

pub(crate) fn reads_after_moving(name: &str) -> String {
    format!(
        "{name} reads a file by a relative path after a cd in a compound command; which file that is cannot be resolved statically while a Read() deny rule is configured, so this needs approval."
    )
}

pub(crate) fn unknown_duration(text: &str) -> String {
    format!("timeout duration '{text}' can't be checked before it runs")
}

pub(crate) fn other_shell(name: &str) -> String {
    format!("Zsh builtin '{name}' can bypass security checks")
}

pub(crate) const NETWORK_REDIRECT: &str =
    "Redirect involving /dev/tcp or /dev/udp opens a network connection";

pub(crate) const ENVIRONMENT_OF_PROCESS: &str = "Accesses /proc/*/environ which may expose secrets";

pub(crate) const BRACES_IN_WRITE: &str = "Brace characters in write target require manual approval — bash may brace-expand to paths outside the working directory";

pub(crate) const DENIED_IN_SHELL: &str = "A permission rule denies a command inside this shell -c script, so Claude Code could not check it for dangerous removals. Approving runs the whole script, including that command.";

pub(crate) const READ_DIFFERENTLY: &str = "This command could not be checked for dangerous rm operations: the shell may read it differently than it was parsed. This requires explicit approval.";

pub(crate) fn with_flags(name: &str) -> String {
    format!(
        "{name} with flags requires manual approval to ensure path safety. For security, Claude Code cannot automatically validate {name} commands that use flags, as some flags like --target-directory=PATH can bypass path validation."
    )
}

pub(crate) fn moves_and(what: &str) -> String {
    format!(
        "Commands that change directories and {what} require explicit approval to ensure paths are evaluated correctly. For security, Claude Code cannot automatically determine the final working directory when 'cd' is used in compound commands."
    )
}

pub(crate) fn starts(name: &str) -> String {
    format!("What '{name}' starts can't be checked before it runs")
}

pub(crate) const JQ_FLAGS: &str =
    "jq command contains dangerous flags that could execute code or read arbitrary files";

pub(crate) const JQ_MODULES: &str = "jq command contains include/import — modules can load arbitrary .jq files via {search:\".\"} and call env or other builtins";

pub(crate) const FRAGMENT: &str = "Command appears to be an incomplete fragment";

pub(crate) const VARIABLE_SET: &str =
    "A variable set in this command can't be checked before it runs";

pub(crate) const MOVES_TWICE: &str =
    "Multiple directory changes in one command require approval for clarity";

pub(crate) const MOVES_AND_VERSIONS: &str = "This command changes directory before running a version-control command, which can pick up untrusted hooks or repository configuration from the target directory. Approve only if you trust it.";

pub(crate) const TRAVERSAL: &str = "Path contains '..' traversal after a directory segment, which may follow a symlink outside the working directory";

pub(crate) const EXPANSION_IN_PATH: &str =
    "Shell expansion syntax in paths requires manual approval";

pub(crate) const PATTERN_IN_WRITE: &str =
    "Glob patterns are not allowed in write operations. Please specify an exact file path.";

pub(crate) const SED_SCRIPT: &str =
    "sed command requires approval (contains potentially dangerous operations)";

pub(crate) const TWO_TARGETS: &str = "cd with two or more directory arguments requires manual approval. zsh's \"cd OLD NEW\" form substitutes OLD→NEW in $PWD, producing a target path that cannot be statically validated.";

pub(crate) const REQUIRES_APPROVAL: &str = "This command requires approval";

pub(crate) fn doubt(doubt: Doubt) -> String {
    let unchecked = |what: &str| format!("{what} in this command can't be checked before it runs");
    match doubt {
        Doubt::NestedCommand => unchecked("A nested command"),
        Doubt::CommandAsFile => unchecked("A command used as a file"),
        Doubt::Group => unchecked("A group in braces or double parentheses"),
        Doubt::Variable => unchecked("A variable"),
        Doubt::VariableInBraces => unchecked("A variable in braces"),
        Doubt::QuotedText => unchecked("Quoted text"),
        Doubt::EscapeCodes => unchecked("Text with escape codes"),
        Doubt::RedirectTarget => {
            "Redirect target concatenation contains $/` — unanalyzable gap or substitution".to_owned()
        }
        Doubt::Assignments => unchecked("Variable assignments"),
        Doubt::List => unchecked("A list of values"),
        Doubt::Loop => unchecked("A while or until loop"),
        Doubt::Broken => "Parse error".to_owned(),
        Doubt::Function => unchecked("A function definition"),
        Doubt::Case => unchecked("A case statement"),
        Doubt::Counting => unchecked("A counting for loop"),
        Doubt::ForLoop => unchecked("A for or select loop"),
        Doubt::Braces => "Brace expansion".to_owned(),
        Doubt::EscapedBlank => "Contains backslash-escaped whitespace".to_owned(),
        Doubt::OddBlank => "Contains Unicode whitespace".to_owned(),
        Doubt::HiddenComment => {
            "Newline followed by # inside a quoted argument can hide arguments from path validation"
                .to_owned()
        }
        Doubt::Subshell => {
            "This command uses shell operators that require approval for safety".to_owned()
        }
        Doubt::OddRedirect => "Unrecognized redirect shape".to_owned(),
        Doubt::Unfinished => "Parser did not consume trailing input".to_owned(),
        Doubt::HeredocPipeline => unchecked("A pipeline"),
        Doubt::HeredocRedirect => unchecked("A file redirect"),
        Doubt::HeredocText => {
            "Text after the heredoc start on the same line cannot be statically analyzed".to_owned()
        }
        Doubt::Background => "This command uses the `&` background operator, which defers execution past approval-time safety checks. Approve only if you trust it.".to_owned(),
        Doubt::Heredoc => "Heredoc with unquoted delimiter undergoes shell expansion".to_owned(),
        Doubt::OddCharacters => unchecked("A control or invisible character"),
        Doubt::NotUnderstood => REQUIRES_APPROVAL.to_owned(),
    }
}

pub(crate) fn loop_variable(name: &str) -> String {
    format!("{name} as loop variable bypasses assignment validation")
}

pub(crate) fn evaluates(name: &str) -> String {
    format!("'{name}' evaluates arguments as shell code")
}

pub(crate) fn find_executes(flag: &str) -> String {
    format!(
        "find with '{flag}' executes commands or modifies files — cannot be auto-allowed by a Bash(find:*) prefix rule"
    )
}

pub(crate) const AWK_SYSTEM: &str =
    "awk program contains system() which executes arbitrary commands";
