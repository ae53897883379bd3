use serde_json::json;

use super::*;

fn settings(permissions: Value) -> Settings {
    let value = json!({ "permissions": permissions });
    let value = value.as_object().unwrap().clone();
    Settings::from_layers(vec![crate::settings::Layer { source: Source::User, path: None, value }])
}

fn place() -> Place {
    Place::new("/home/dev/app".into(), "/home/dev".into())
}

fn bash(permissions: &Permissions, command: &str) -> Verdict {
    let input = json!({ "command": command });
    permissions.decide(Call { tool: "Bash", input: &input }, &place()).verdict
}

fn permissions(rules: Value, mode: Mode) -> Permissions {
    let command_line = CommandLine { mode: Some(mode), ..CommandLine::default() };
    let mut permissions = Permissions::new(&settings(rules), &command_line);
    permissions.note_command();
    permissions
}

#[test]
fn before_a_command_has_run_what_sets_a_variable_is_asked_about() {
    let rules = json!({ "allow": ["Bash(npm:*)"] });
    let command_line = CommandLine::default();
    let mut fresh = Permissions::new(&settings(rules), &command_line);
    let loops = [
        "for i in 1; do npm x; done",
        "for i in a b; do ls; done",
        "npm x; for i in *; do npm y; done",
    ];
    for command in loops {
        assert_eq!(bash(&fresh, command), Verdict::Asked, "{command}");
    }
    for command in ["while true; do npm x; done", "if npm x; then npm y; fi", "npm x"] {
        assert_eq!(bash(&fresh, command), Verdict::Allowed, "{command}");
    }
    assert_eq!(bash(&fresh, "x=1"), Verdict::Asked);
    fresh.note_command();
    for command in loops {
        assert_eq!(bash(&fresh, command), Verdict::Allowed, "{command}");
    }
    let odd = [
        "for PATH in a b; do ls; done",
        "for LD_PRELOAD in a; do npm x; done",
        "for _ in a b; do ls; done",
        "for i in a b; do cd src; done",
        "for i in a b; do ls | cat; done",
        "for i in a b; do npm $i; done",
        "for i in a b; do npm x; evil; done",
    ];
    for command in odd {
        assert_eq!(bash(&fresh, command), Verdict::Asked, "{command}");
    }
}

#[test]
fn a_command_in_the_background_that_needs_no_rule_is_asked_about_whatever_rules_allow() {
    let all = permissions(json!({ "allow": ["Bash"] }), Mode::Default);
    for command in ["ls &", "echo a & echo b", "echo x&"] {
        assert_eq!(bash(&all, command), Verdict::Asked, "{command}");
    }
    for command in ["npm x &", "sleep 1 & wait", "(echo x) &"] {
        assert_eq!(bash(&all, command), Verdict::Allowed, "{command}");
    }
    let bypass = permissions(json!({ "allow": ["Bash"] }), Mode::BypassPermissions);
    assert_eq!(bash(&bypass, "ls &"), Verdict::Allowed);
}

#[test]
fn what_only_looks_runs_and_everything_else_is_asked_about() {
    let none = permissions(json!({}), Mode::Default);
    for command in [
        "ls -la *.txt",
        "cat a.txt | grep -n x | head -5",
        "git log --oneline -5",
        "cd src && ls",
        "if true; then ls; fi",
        "[ -f a.txt ] && cat a.txt",
        "find . -name '*.rs'",
        "echo hi > /dev/null",
        "sed -n 1,5p a.txt",
        "find . -type f -print0 | xargs -0 grep -l x",
        "ls | xargs -n 1 wc -l",
        "grep -rn --include=*.rs x src",
        "for f in a b; do ls; done",
        "echo \"in $HOME\"",
        "timeout 5 ls",
    ] {
        assert_eq!(bash(&none, command), Verdict::Allowed, "{command}");
    }
    for command in [
        "",
        "evil",
        "ls; evil",
        "ls\nevil",
        "ls | evil",
        "ls & evil",
        "ls && (evil)",
        "echo $(evil)",
        "echo `evil`",
        "cat <(evil)",
        "echo \"$(evil)\"",
        "echo ${x:-$(evil)}",
        "ls | xargs cat",
        "ls | xargs grep x /etc/passwd",
        "ls | xargs head ../notes.txt",
        "ls | xargs grep -f ~/x",
        "grep --not-a-flag x a.txt",
        "ls > out",
        "ls >> out",
        "ls 2> out",
        "ls &> out",
        "ls >| out",
        "ls 1<> out",
        "find . -exec evil {} +",
        "find . -delete",
        "sort -o out a",
        "sort --compress-program=evil a",
        "sort --comp=evil a",
        "rg --pre evil x",
        "git diff --ext-diff",
        "git log --output=x",
        "git -c core.pager=evil log",
        "sed -n '1e evil'",
        "sed -n 1w/tmp/x a",
        "awk 'BEGIN{system(\"evil\")}'",
        "xargs evil",
        "env evil",
        "command evil",
        "builtin eval evil",
        "eval evil",
        "exec evil",
        ". evil",
        "source evil",
        "evil() { evil; }; ls",
        "function ls { evil; }; ls",
        "alias ls=evil; ls",
        "PATH=. ls",
        "LD_PRELOAD=x ls",
        "ls\r\nevil",
        "ls\u{2003}evil",
        "\u{a0}ls",
        "ls\0evil",
        "printf -v 'a[$(evil)]' x",
        "test -v 'a[$(evil)]'",
        "[[ 'a[$(evil)]' -eq 1 ]]",
        "[ -v 'a[$(evil)]' ]",
        "((a[$(evil)]))",
        "let 'a[$(evil)]=1'",
        "cat <<EOF\n$(evil)\nEOF",
        "cat <<'EOF' | evil\nEOF\n",
        "coproc evil",
        "time evil",
        "! evil",
        "case x in x) evil;; esac",
        "select x in a; do evil; done",
        "{ evil; }",
        "echo {a,b}",
        "ls $'\\x24(evil)'",
        "man -P evil ls",
        "diff -l a b",
        "file -C -m x",
        "trap evil EXIT",
        "cat /etc/passwd",
        "cat ../x",
        "ls ~",
        "cd .. && ls",
        "cd / ; ls",
        "cat < /etc/passwd",
        "'evil'",
        "l\\\ns; evil",
        "ls #\nevil",
        "ls -la\\\n;evil",
        "echo a;#\nevil",
        "declare x=$(evil)",
        "export PATH=.; ls",
        "hash -p /tmp/evil ls; ls",
        "enable -f x ls",
        "history -s x; ls",
        "date -s 1",
        "hostname evil",
        "ss -K",
        "tree -o x",
        "jq -f x",
        "python3 -c 1",
        "node x",
    ] {
        assert_eq!(bash(&none, command), Verdict::Asked, "{command:?}");
    }
}

#[test]
fn a_quoted_heredoc_is_text_if_nothing_can_hide_or_follow_it() {
    let none = permissions(json!({}), Mode::Default);
    for command in ["cat <<'EOF'\n$(evil)\nevil\nEOF", "cat -n <<'E'\nE\n", "wc -l <<'A_1'\nx\nA_1"]
    {
        assert_eq!(bash(&none, command), Verdict::Allowed, "{command}");
    }
    for command in [
        "cat <<'EOF'\nx\nEOF\nevil",
        "cat <<'EOF'\nevil",
        "ls # <<'EOF'\nevil\nEOF",
        "echo ' <<'EOF'\nevil\nEOF",
        "cat <<'EOF'; evil\nEOF",
        "cat <<EOF\n$(evil)\nEOF",
        "cat <<'A' <<'B'\nA\nevil\nB",
        "evil <<'E'\nE",
        "cat \\ <<'E'\nevil\nE",
        "cat <<<'E'\nevil\nE",
        "cat <<'E'\n E\nevil",
        "cat > out <<'E'\nE",
        "cat <<-'E'\n\tE\nevil\nE",
        "cat <<'E'\nE\nE",
        "cat 2<<'E'\nE",
    ] {
        assert_eq!(bash(&none, command), Verdict::Asked, "{command}");
    }
    let denied = permissions(json!({ "deny": ["Bash(cat:*)"] }), Mode::Default);
    assert_eq!(bash(&denied, "cat <<'E'\nE"), Verdict::Denied);
}

#[test]
fn a_rule_allows_its_command_and_nothing_that_is_started_with_it() {
    let some = permissions(json!({ "allow": ["Bash(make:*)", "Bash(npm run *)"] }), Mode::Default);
    for command in [
        "make",
        "make all",
        "timeout 5 make x",
        "make && npm run x | cat",
        "xargs make",
        "NODE_ENV=x npm run y",
        "nice -n 5 make",
        "make 2>&1",
    ] {
        assert_eq!(bash(&some, command), Verdict::Allowed, "{command}");
    }
    for command in [
        "makex",
        "make; evil",
        "make $(evil)",
        "make > x",
        "env make",
        "sudo make",
        "LD_PRELOAD=x make",
        "timeout -s KILL 5 evil make",
        "xargs -I evil make",
        "./make",
        "evil make",
        "make\\\n;evil",
        "\"make\"x",
        "make & evil",
        "nice evil make",
        "time -o x make",
    ] {
        assert_eq!(bash(&some, command), Verdict::Asked, "{command}");
    }
}

#[test]
fn a_rule_that_forbids_looks_through_quotes_paths_and_wrappers() {
    let rules = json!({ "allow": ["Bash"], "deny": ["Bash(rm:*)", "Read(.env)", "Edit(src/**)"] });
    for mode in [Mode::Default, Mode::BypassPermissions, Mode::AcceptEdits] {
        let some = permissions(rules.clone(), mode);
        for command in [
            "rm x",
            "FOO=1 rm x",
            "/bin/rm x",
            "\\rm x",
            "'rm' x",
            "command rm x",
            "ls | xargs rm",
            "echo $(rm x)",
            "(rm x)",
            "{ rm x; }",
            "if rm x; then ls; fi",
            "timeout -k 1 5 rm x",
            "sudo -n rm x",
            "env A=b rm x",
            "ls;rm x",
            "rm x; <<",
            "cat .env",
            "cat ./.env",
            "head -1 /home/dev/app/.env",
            "cat < .env",
            "cp .env x",
            "timeout 5 cat .env",
            "echo x > src/y",
            "(echo x > src/y)",
            "touch src/y",
            "tee src/y",
            "ln -s a src/y",
        ] {
            assert_eq!(bash(&some, command), Verdict::Denied, "{command} {mode:?}");
        }
    }
}

#[test]
fn what_a_command_reads_and_writes_is_seen_through_wrappers_and_spellings() {
    let mode = permissions(json!({ "allow": ["Bash(cp:*)", "Bash(touch:*)"] }), Mode::AcceptEdits);
    for command in [
        "touch a b",
        "timeout 5 rm a",
        "sed -i 's/a/b/g' a",
        "sed s/a/b/ a > b",
        "mkdir -p d && cp a d",
        "cat ../app/a",
        "cd . && git status",
    ] {
        assert_eq!(bash(&mode, command), Verdict::Allowed, "{command}");
    }
    for command in [
        "timeout 5 cat /etc/passwd",
        "command cat /etc/passwd",
        "LANG=C cat /etc/passwd",
        "nice cat /etc/passwd",
        "timeout 5 rm /etc/passwd",
        "cat //home/dev/app/a",
        "cat src/../a",
        "echo x > src/../a",
        "cat '$x'",
        "cp -t /tmp a",
        "cp -r src /tmp",
        "rm src/*",
        "sed -i 1d a",
        "sed -i 's/a/b/e' a",
        "cd src && touch a",
        "cd src && echo x > a",
        "cd src && cd deep && ls",
        "cd src && git status",
        "cd ~/app && git log",
        "ps aux --sort=-%mem",
        "> a",
        "a*c",
        "echo a\\ b",
        "echo 'a\n# b'",
        "time -p touch a",
        "touch .npmrc",
        "echo x > .git/config",
    ] {
        assert_eq!(bash(&mode, command), Verdict::Asked, "{command}");
    }
    let denied = permissions(json!({ "allow": ["Bash"], "deny": ["Read(.env)"] }), Mode::Default);
    for command in [
        "cat .ENV",
        "cat \"$PWD/.env\"",
        "cd src; cat ../.env",
        "grep --file=.env a",
        "git diff .env",
    ] {
        assert_eq!(bash(&denied, command), Verdict::Denied, "{command}");
    }
    assert_eq!(bash(&denied, "touch .env"), Verdict::Allowed);
}

#[test]
fn a_pattern_means_the_words_of_a_command_and_a_text_means_itself() {
    let rules = json!({ "allow": ["Bash(npm run:*)", "Bash(git * main)", "Bash(make all)", "Bash( ls )", "Bash(git commit -m \"*\")"] });
    let some = permissions(rules, Mode::Default);
    for command in [
        "npm  run x",
        "'npm' run x",
        "\\npm run x",
        "command npm run x",
        "timeout -k 5 10 npm run x",
        "stdbuf -oL npm run x",
        "CI=1 npm run x",
        "npm run $HOME",
        "git push origin main",
        "git commit -m \"a b\"",
    ] {
        assert_eq!(bash(&some, command), Verdict::Allowed, "{command}");
    }
    for command in [
        "npm 'run' x",
        "npm run \"$PWD\"",
        "NODE_ENV=\"a b\" npm run x",
        "time -p npm run x",
        "git  main",
        "make  all",
        "git commit -m 'a b'",
    ] {
        assert_eq!(bash(&some, command), Verdict::Asked, "{command}");
    }
}

#[test]
fn a_rule_about_a_command_is_no_rule_about_files_elsewhere() {
    let rules = json!({
        "allow": [
            "Bash(ls /tmp)",
            "Bash(cat /etc/x; pwd)",
            "Bash(touch a; rm b)",
            "Bash(ls; npm x)",
            "Bash(cd src; cat ../.env)",
        ],
        "ask": ["Bash(npm:*)"],
        "deny": ["Read(.env)"],
    });
    let some = permissions(rules, Mode::Default);
    assert_eq!(bash(&some, "ls /tmp"), Verdict::Asked);
    assert_eq!(bash(&some, "cat /etc/x; pwd"), Verdict::Asked);
    assert_eq!(bash(&some, "ls; npm x"), Verdict::Asked);
    assert_eq!(bash(&some, "cd src; cat ../.env"), Verdict::Denied);
    assert_eq!(bash(&some, "touch a; rm b"), Verdict::Allowed);
}

#[test]
fn tools_are_decided_about_by_name_mode_and_content() {
    let decide = |rules: Value, mode, tool: &str, input: Value| {
        permissions(rules, mode).decide(Call { tool, input: &input }, &place())
    };
    let agent = || json!({ "subagent_type": "explore" });
    assert_eq!(decide(json!({}), Mode::Default, "Agent", agent()).verdict, Verdict::Allowed);
    let kind = decide(json!({ "allow": ["Agent"] }), Mode::Plan, "Agent", agent()).kind;
    assert_eq!(kind, Some(DenialKind::AutoModeUnavailable));
    let denied = decide(json!({ "deny": ["Agent(Explore)"] }), Mode::Default, "Agent", agent());
    assert!(denied.text.starts_with("Agent type 'Explore' has been denied"), "{}", denied.text);
    for rule in ["Skill(one)", "Skill(one:*)", "Skill(one *)"] {
        for name in ["one", "/one"] {
            let input = json!({ "skill": name });
            let decision = decide(json!({ "deny": [rule] }), Mode::Default, "Skill", input);
            assert_eq!(decision.verdict, Verdict::Denied, "{rule} {name}");
        }
    }
    let other = decide(
        json!({ "deny": ["Skill(one)"] }),
        Mode::Default,
        "Skill",
        json!({ "skill": "two" }),
    );
    assert_eq!(other.verdict, Verdict::Allowed);
    let skill = |rules: Value, mode, name: &str| {
        let mut permissions = permissions(rules, mode);
        permissions.ask_about_skills(["grants".to_owned()]);
        permissions.decide(Call { tool: "Skill", input: &json!({ "skill": name }) }, &place())
    };
    let asked = skill(json!({}), Mode::Default, "/grants");
    assert_eq!(asked.verdict, Verdict::Asked);
    assert!(asked.text.contains("the allow rule Skill(grants)"), "{}", asked.text);
    let by_rule = skill(json!({ "ask": ["Skill(other)"] }), Mode::Default, "grants");
    assert_eq!(by_rule.text, "Execute skill: grants");
    assert_eq!(skill(json!({}), Mode::Default, "plain").verdict, Verdict::Allowed);
    assert_eq!(skill(json!({}), Mode::BypassPermissions, "grants").verdict, Verdict::Allowed);
    for rule in ["Skill", "Skill(grants)", "Skill(grants:*)"] {
        let allowed = skill(json!({ "allow": [rule] }), Mode::Default, "grants");
        assert_eq!(allowed.verdict, Verdict::Allowed, "{rule}");
    }
    let denied = skill(json!({}), Mode::DontAsk, "grants");
    assert!(denied.text.contains("don't ask mode") && denied.text.ends_with("without asking."));
    let other = skill(json!({ "allow": ["Skill(grant)"] }), Mode::Default, "grants");
    assert_eq!(other.verdict, Verdict::Asked);
    let planned = decide(json!({ "allow": ["mcp__lab"] }), Mode::Plan, "mcp__lab__echo", json!({}));
    assert_eq!(planned.text, "Cannot call mcp__lab__echo while in plan mode.");
    let glob = decide(json!({}), Mode::Default, "Glob", json!({ "pattern": "/etc/*.conf" }));
    assert_eq!(glob.verdict, Verdict::Asked);
    let removal = json!({ "command": "rm -rf \"$x\"/" });
    let removal = decide(json!({ "allow": ["Bash"] }), Mode::BypassPermissions, "Bash", removal);
    assert_eq!(removal.verdict, Verdict::Asked);
    for (command, safe) in [
        ("rm -rf \"$x\"/", "`\"${x:?}\"/`"),
        ("rm -rf \"$x/\"", "`\"${x:?}/\"`"),
        ("rm -rf $x/*", "`\"${x:?}\"/*`"),
        ("rm -rf ${x}/", "`\"${x:?}\"/`"),
    ] {
        let input = json!({ "command": command });
        let asked = decide(json!({}), Mode::BypassPermissions, "Bash", input);
        assert!(asked.text.contains(safe), "{}", asked.text);
    }
    for command in ["rm -rf ${HOME}", "bash -c 'rm -rf /etc'", "sh -ec \"bash -c 'rm -r /'\""] {
        let input = json!({ "command": command });
        let asked = decide(json!({}), Mode::BypassPermissions, "Bash", input);
        assert_eq!(asked.verdict, Verdict::Asked, "{command}");
    }
    let home = decide(json!({}), Mode::Auto, "Bash", json!({ "command": "rm -rf ~" }));
    assert_eq!(home.verdict, Verdict::Denied);
}

#[test]
fn files_that_run_programs_are_asked_about_where_edits_are_accepted() {
    let mode = permissions(json!({}), Mode::AcceptEdits);
    let decide = |path: &str| {
        let input = json!({ "file_path": format!("/home/dev/app/{path}"), "content": "" });
        mode.decide(Call { tool: "Write", input: &input }, &place())
    };
    for path in [".gitignore", ".github/x.yml", "CLAUDE.md", ".claude/worktrees/x", "x.git/y"] {
        assert_eq!(decide(path).verdict, Verdict::Allowed, "{path}");
    }
    for path in [
        ".npmrc",
        ".envrc",
        ".cargo/config.toml",
        ".yarn/x",
        ".devcontainer/x",
        "sub/.git/x",
        ".GIT/x",
        ".claude/notes.md",
        "sub/.claude/agents/x.md",
        ".claude/worktrees/a/.git/x",
    ] {
        let decision = decide(path);
        assert!(decision.text.ends_with("which is a sensitive file."), "{path}: {}", decision.text);
    }
    for path in [".claude/settings.json", ".claude/agents/x.md", ".ssh/config"] {
        let decision = decide(path);
        assert!(decision.text.contains("permissions to write to"), "{path}: {}", decision.text);
    }
}

#[test]
fn links_lead_neither_out_of_the_working_directories_nor_around_a_rule() {
    let directory = tempfile::tempdir().unwrap();
    let root = std::fs::canonicalize(directory.path()).unwrap();
    let app = root.join("app");
    std::fs::create_dir_all(app.join("secret")).unwrap();
    std::fs::create_dir(root.join("out")).unwrap();
    std::fs::write(app.join("secret/key"), "k").unwrap();
    std::fs::write(root.join("out/x"), "x").unwrap();
    #[cfg(unix)]
    for (target, link) in [("secret/key", "key"), ("../out", "away"), ("../out/new", "dangling")] {
        std::os::unix::fs::symlink(target, app.join(link)).unwrap();
    }
    let place = Place::new(app.clone(), root.clone());
    let some = permissions(json!({ "deny": ["Read(secret/**)"] }), Mode::AcceptEdits);
    let decide = |tool: &str, input: Value| some.decide(Call { tool, input: &input }, &place);
    let read = |path: &str| decide("Read", json!({ "file_path": app.join(path) })).verdict;
    assert_eq!(read("key"), Verdict::Denied);
    assert_eq!(read("away/x"), Verdict::Asked);
    let write = decide("Write", json!({ "file_path": app.join("dangling"), "content": "" }));
    assert_eq!(write.verdict, Verdict::Denied);
    assert!(write.text.starts_with("Refusing to write"));
    let write = decide("Write", json!({ "file_path": app.join("away/new"), "content": "" }));
    assert_eq!(write.verdict, Verdict::Asked);
    for command in
        ["cat away/x", "ls away", "touch away/new", "echo x > away/new", "echo x > dangling"]
    {
        let verdict = decide("Bash", json!({ "command": command })).verdict;
        assert_eq!(verdict, Verdict::Asked, "{command}");
    }
    assert_eq!(decide("Bash", json!({ "command": "cat key" })).verdict, Verdict::Denied);
}

#[test]
fn a_hook_answers_questions_and_not_rules() {
    use crate::hook::Answer;
    use crate::hook::Choice;
    let answer =
        |choice| Answer { choice: Some((choice, Some("why".into()))), ..Answer::default() };
    let input = json!({ "file_path": "/home/dev/app/x", "content": "" });
    let decide = |rules: Value, mode, choice| {
        let call = Call { tool: "Write", input: &input };
        permissions(rules, mode).decide_after_hooks(call, &place(), &answer(choice))
    };
    let allowed = decide(json!({}), Mode::Default, Choice::Allow);
    assert_eq!(allowed.verdict, Verdict::Allowed);
    assert_eq!(
        allowed.log_value(),
        json!({ "decision": "accept", "source": "hook", "reasonType": "hook" })
    );
    assert_eq!(decide(json!({}), Mode::DontAsk, Choice::Allow).verdict, Verdict::Allowed);
    assert_eq!(
        decide(json!({ "ask": ["Write"] }), Mode::Default, Choice::Allow).verdict,
        Verdict::Asked
    );
    assert_eq!(
        decide(json!({ "deny": ["Edit(x)"] }), Mode::Default, Choice::Allow).verdict,
        Verdict::Denied
    );
    let asked = decide(json!({}), Mode::BypassPermissions, Choice::Ask);
    assert_eq!((asked.verdict, asked.text.as_str()), (Verdict::Asked, "why"));
    assert_eq!(
        asked.log_value(),
        json!({ "decision": "reject", "source": "config", "reasonCode": "hook:PreToolUse" })
    );
}

#[test]
fn no_hook_allows_a_write_in_plan_mode() {
    let input = json!({ "file_path": "/home/dev/app/x", "content": "x" });
    let call = Call { tool: "Write", input: &input };
    let answer = Answer { choice: Some((Choice::Allow, None)), ..Answer::default() };
    let decide = |mode| permissions(json!({}), mode).decide_after_hooks(call, &place(), &answer);
    assert_eq!(decide(Mode::Default).verdict, Verdict::Allowed);
    assert_eq!(decide(Mode::DontAsk).verdict, Verdict::Allowed);
    let plan = decide(Mode::Plan);
    assert_eq!(plan.verdict, Verdict::Asked);
    assert_eq!(plan.text, "Cannot write to /home/dev/app/x while in plan mode.");
    // A question of a hook is asked in every mode.
    let ask = Answer { choice: Some((Choice::Ask, None)), ..Answer::default() };
    let asked = permissions(json!({}), Mode::DontAsk).decide_after_hooks(call, &place(), &ask);
    assert_eq!(asked.verdict, Verdict::Asked);
    assert_eq!(asked.text, "Hook PreToolUse:Write asked for confirmation for this tool");
}

#[test]
fn a_project_cannot_switch_the_questions_off() {
    let value = json!({ "permissions": { "defaultMode": "bypassPermissions" } });
    let layer = |source| crate::settings::Layer {
        source,
        path: None,
        value: value.as_object().unwrap().clone(),
    };
    let mode = |source| {
        let settings = Settings::from_layers(vec![layer(source)]);
        Permissions::new(&settings, &CommandLine::default()).mode
    };
    assert_eq!(mode(Source::User), Mode::BypassPermissions);
    assert_eq!(mode(Source::Project), Mode::Default);
}

#[test]
fn no_input_makes_it_panic_or_run_away() {
    let some = permissions(
        json!({ "allow": ["Bash(a*b*c*d:*)"], "deny": ["Bash(*x*y*z)", "Read([)", "Edit(!{)"] }),
        Mode::AcceptEdits,
    );
    let deep = format!("{}ls{}", "(".repeat(3_000), ")".repeat(3_000));
    let nested = format!("{}ls{}", "$(".repeat(1_000), ")".repeat(1_000));
    let many = "ls;".repeat(2_000);
    let looped = format!("for i in a; do {}ls{}; done", "(".repeat(30_000), ")".repeat(30_000));
    for command in [
        deep.as_str(),
        &looped,
        &nested,
        &many,
        "\u{0}",
        "'",
        "\"",
        "\\",
        "<<",
        "<<<",
        "{",
        "}",
        "((",
        "`",
        "$",
        "a=(",
    ] {
        let _ = bash(&some, command);
    }
    assert_eq!(bash(&some, &nested), Verdict::Asked);
    for tool in
        ["Read", "Write", "Edit", "Glob", "Grep", "WebFetch", "NotebookEdit", "Agent", "", "mcp__"]
    {
        for input in [
            Value::Null,
            json!([]),
            json!({ "file_path": 1 }),
            json!({ "file_path": "\u{0}" }),
            json!({ "url": "://" }),
        ] {
            let _ = some.decide(Call { tool, input: &input }, &place());
        }
    }
}

#[test]
fn of_several_files_the_one_that_asks_for_most_care_is_asked_about() {
    let all = permissions(json!({ "allow": ["Bash"] }), Mode::Default);
    for command in ["cp a.txt .git/x", "touch a.txt .git/hooks/x", "mv a.txt .bashrc"] {
        assert_eq!(bash(&all, command), Verdict::Asked, "{command}");
    }
    let text = |command: &str| {
        let none = permissions(json!({}), Mode::Default);
        let input = json!({ "command": command });
        none.decide(Call { tool: "Bash", input: &input }, &place()).text
    };
    assert!(text("cp a.txt /tmp/x").starts_with("cp in '/tmp/x'"));
    assert!(text("mv a.txt b.txt").starts_with("mv in '/home/dev/app/a.txt'"));
    assert!(text("rm src/../../x").starts_with("rm in '/home/dev/x'"));
    assert!(text("rm src/../x").starts_with("Path contains '..'"));
}

#[test]
fn names_with_patterns_and_braces_are_not_written_even_in_quotes() {
    let edits = permissions(json!({}), Mode::AcceptEdits);
    for command in ["rm '*.txt'", "touch 'a[1]'", "rm \\*.txt", "mv a.txt 'b?'", "rm 'a{b}'"] {
        assert_eq!(bash(&edits, command), Verdict::Asked, "{command}");
    }
    for command in [
        "rm a.txt",
        "rm --help",
        "mkdir",
        "for i in a b; do touch x; done",
        "cat > f <<'EOF'\n$(x)\nEOF",
        "sed --in-place s/a/b/ a.txt",
    ] {
        assert_eq!(bash(&edits, command), Verdict::Allowed, "{command}");
    }
}

#[test]
fn a_rule_that_forbids_sees_variables_shells_and_what_cannot_be_parsed() {
    let rules = json!({ "allow": ["Bash"], "deny": ["Bash(ls:*)", "Bash(rm:*)"] });
    let some = permissions(rules.clone(), Mode::Default);
    for command in ["x=ls; $x", "x=rm; ${x} a", "ls.exe", "noglob ls", "if ls", "then ls", "{ ls"] {
        assert_eq!(bash(&some, command), Verdict::Denied, "{command}");
    }
    for mode in [Mode::Default, Mode::BypassPermissions] {
        let some = permissions(rules.clone(), mode);
        for command in
            ["bash -c 'rm x'", "sh -c 'ls; rm -r x'", "zsh -lc 'true && rm x'", "echo $("]
        {
            assert_ne!(bash(&some, command), Verdict::Allowed, "{command}");
        }
    }
    assert_eq!(bash(&some, "sleep 1 &"), Verdict::Asked);
    for command in ["bash -c 'touch x'", "command -v ls", "x=lsof; $x", "echo $xls"] {
        assert_eq!(bash(&some, command), Verdict::Allowed, "{command}");
    }
}

#[test]
fn after_a_change_of_directory_a_hidden_file_could_be_anywhere() {
    let some = permissions(json!({ "deny": ["Read(.env)"] }), Mode::Default);
    for command in ["cd src && cat main.rs", "cd src; ls", "cat a.txt && cd src"] {
        assert_eq!(bash(&some, command), Verdict::Asked, "{command}");
    }
    for command in ["cd . && cat a.txt", "cd src && pwd", "cd src && cat /home/dev/app/a.txt"] {
        assert_eq!(bash(&some, command), Verdict::Allowed, "{command}");
    }
}

#[test]
fn a_pattern_of_a_directory_allows_one_place_and_forbids_all() {
    let write = |rules: Value, path: &str| {
        let some = permissions(rules, Mode::Default);
        let input = json!({ "file_path": path, "content": "x" });
        some.decide(Call { tool: "Write", input: &input }, &place()).verdict
    };
    let allow = json!({ "allow": ["Edit(deep/**)"] });
    assert_eq!(write(allow.clone(), "/home/dev/app/deep/n.ts"), Verdict::Allowed);
    assert_eq!(write(allow, "/home/dev/app/src/deep/n.ts"), Verdict::Asked);
    for rule in ["Edit(deep/**)", "Edit(./deep/**)"] {
        let deny = json!({ "deny": [rule] });
        assert_eq!(write(deny, "/home/dev/app/src/deep/n.ts"), Verdict::Denied);
    }
    let read = json!({ "file_path": "/home/dev/other/o.txt" });
    let some = permissions(json!({ "allow": ["Edit(~/other/**)"] }), Mode::Default);
    let verdict = some.decide(Call { tool: "Read", input: &read }, &place()).verdict;
    assert_eq!(verdict, Verdict::Allowed);
}

#[test]
fn a_rule_about_every_command_is_none_where_a_safety_check_looks_at_them() {
    for mode in [Mode::Plan, Mode::Auto] {
        for rule in
            ["Bash", "Bash(*)", "Bash(python3:*)", "Bash(node)", "Bash(bash -*)", "Bash(npm run *)"]
        {
            let some = permissions(json!({ "allow": [rule] }), mode);
            for command in ["python3 x.py", "node", "bash -c ls", "npm run x"] {
                assert_ne!(bash(&some, command), Verdict::Allowed, "{rule} {command}");
            }
        }
        let rules = json!({ "allow": ["Bash(npm:*)", "Bash(python3 x*)", "Bash(node x.js)"] });
        let some = permissions(rules, mode);
        for command in ["npm test", "python3 x.py", "node x.js"] {
            assert_eq!(bash(&some, command), Verdict::Allowed, "{command}");
        }
    }
}
