//! A profile for the sandbox of macOS. It is made as the system's own profiles are written, and
//! was never tried: recto uses it nowhere yet.

use super::Policy;

/// The profile of a policy, for `sandbox-exec -p`.
pub fn profile(policy: &Policy) -> String {
    let quoted = |path: &std::path::Path| {
        format!("\"{}\"", path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\""))
    };
    let mut text = String::from(
        "(version 1)\n(deny default)\n(allow process*)\n(allow sysctl-read)\n(allow file-read*)\n(allow file-write* (literal \"/dev/null\"))\n(deny network*)\n",
    );
    for path in &policy.writable {
        text.push_str(&format!("(allow file-write* (subpath {}))\n", quoted(path)));
    }
    for path in &policy.protected {
        text.push_str(&format!("(deny file-write* (subpath {}))\n", quoted(path)));
    }
    for path in &policy.hidden {
        text.push_str(&format!("(deny file-read* file-write* (subpath {}))\n", quoted(path)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_lines_refuse_what_earlier_ones_allow() {
        let policy = Policy {
            writable: vec!["/home/dev/a \"b\"".into()],
            hidden: vec!["/home/dev/.ssh".into()],
            ..Policy::default()
        };
        let text = profile(&policy);
        assert!(text.contains(r#"(allow file-write* (subpath "/home/dev/a \"b\""))"#), "{text}");
        assert!(text.ends_with("(deny file-read* file-write* (subpath \"/home/dev/.ssh\"))\n"));
    }
}
