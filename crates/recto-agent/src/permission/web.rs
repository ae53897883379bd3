//! `WebFetch(domain:..)`.

use serde_json::Value;

use crate::permission::Permissions;
use crate::permission::check::Ask;
use crate::permission::check::Check;
use crate::permission::decision::Reason;
use crate::permission::rule::Behavior;
use crate::permission::rule::Rule;
use crate::permission::sentence;
use crate::permission::update::Destination;
use crate::permission::update::PermissionUpdate;

impl Permissions {
    pub(crate) fn check_fetch(&self, input: &Value) -> Check {
        let url = input.get("url").and_then(Value::as_str).unwrap_or_default();
        let Some(host) = host(url) else {
            return Check::Ask(Ask::plain(sentence::not_granted("use WebFetch")));
        };
        if let Some(rule) = self.domain_rule(Behavior::Deny, &host) {
            let text = format!("WebFetch denied access to domain:{host}.");
            return Check::Deny { text, reason: Reason::Rule(rule.clone()) };
        }
        let text = sentence::not_granted("use WebFetch");
        if let Some(rule) = self.domain_rule(Behavior::Ask, &host) {
            return Check::Ask(Ask::by_rule(text, Reason::Rule(rule.clone())));
        }
        if let Some(rule) = self.domain_rule(Behavior::Allow, &host) {
            return Check::Allow(Reason::Rule(rule.clone()));
        }
        let suggestion = PermissionUpdate::AddRules {
            rules: vec![("WebFetch".to_owned(), Some(format!("domain:{host}")))],
            behavior: Behavior::Allow,
            destination: Destination::LocalSettings,
        };
        Check::Ask(Ask { suggestions: vec![suggestion], ..Ask::plain(text) })
    }

    fn domain_rule(&self, behavior: Behavior, host: &str) -> Option<&Rule> {
        self.rules_of(behavior, "WebFetch").find(|rule| {
            let domain =
                rule.content.as_deref().and_then(|content| content.strip_prefix("domain:"));
            domain.is_some_and(|domain| is_of_domain(host, &domain.trim().to_ascii_lowercase()))
        })
    }
}

/// `*.example.org` is every host below it, and not the name itself.
fn is_of_domain(host: &str, domain: &str) -> bool {
    match domain.strip_prefix("*.") {
        Some(parent) => {
            host.strip_suffix(parent).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
        }
        None => host == domain,
    }
}

/// The host of an HTTP address, in lower case. An address that is not plain has none: what a
/// browser and a rule could read differently is not for a rule.
fn host(url: &str) -> Option<String> {
    let (scheme, rest) = url.trim().split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.chars().all(|c| c.is_ascii_digit()) => host,
        Some(_) => return None,
        None => authority,
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-' || c == '_';
    let host = host.strip_suffix('.').unwrap_or(host);
    (!host.is_empty() && host.chars().all(plain)).then(|| host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_host_counts() {
        assert_eq!(host("https://Example.com/a").as_deref(), Some("example.com"));
        assert_eq!(host("http://example.com:8080?x").as_deref(), Some("example.com"));
        assert_eq!(host("https://example.com@evil.org/"), None);
        assert_eq!(host("https://example.com\\@evil.org/"), None);
        assert_eq!(host("file:///etc/passwd"), None);
        assert!(is_of_domain("a.wild.org", "*.wild.org"));
        assert!(!is_of_domain("wild.org", "*.wild.org"));
        assert!(!is_of_domain("evilwild.org", "*.wild.org"));
        assert!(!is_of_domain("www.example.com", "example.com"));
    }
}
