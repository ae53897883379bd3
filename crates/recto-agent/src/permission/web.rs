//! `WebFetch(domain:..)`.

use serde_json::Value;
use url::Url;

use crate::permission::Permissions;
use crate::permission::check::Ask;
use crate::permission::check::Check;
use crate::permission::decision::Reason;
use crate::permission::rule::Behavior;
use crate::permission::rule::Rule;
use crate::permission::sentence;
use crate::permission::shell::rules;
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
            // A rule that allows means what it says.
            let domain = domain.map(|domain| match behavior {
                Behavior::Allow => domain,
                Behavior::Ask | Behavior::Deny => domain.trim(),
            });
            domain.is_some_and(|domain| is_of_domain(host, &domain.to_ascii_lowercase()))
        })
    }
}

/// `*.example.org` is every host below it, and not the name itself. Elsewhere `*` is a part of a
/// name.
fn is_of_domain(host: &str, domain: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    if domain == "*" {
        return true;
    }
    if let Some(parent) = domain.strip_prefix("*.").filter(|parent| !parent.contains('*')) {
        return host.strip_suffix(parent).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'));
    }
    let (hosts, domains) = (host.split('.'), domain.split('.'));
    hosts.clone().count() == domains.clone().count()
        && hosts.zip(domains).all(|(host, domain)| rules::matches_pattern(domain, host))
}

/// The host of an address, as the one who fetches it reads it.
fn host(url: &str) -> Option<String> {
    Url::parse(url.trim()).ok()?.host_str().map(str::to_ascii_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_host_counts() {
        assert_eq!(host("https://Example.com/a").as_deref(), Some("example.com"));
        assert_eq!(host("http://example.com:8080?x").as_deref(), Some("example.com"));
        assert_eq!(host("https://user@example.com/").as_deref(), Some("example.com"));
        assert_eq!(host("https://example.com@evil.org/").as_deref(), Some("evil.org"));
        assert_eq!(host("https://example.com\\@evil.org/").as_deref(), Some("example.com"));
        assert_eq!(host("https://exa%6dple.com/").as_deref(), Some("example.com"));
        assert_eq!(host("file:///etc/passwd"), None);
        assert_eq!(host("example.com"), None);
        assert!(is_of_domain("a.wild.org", "*.wild.org"));
        assert!(!is_of_domain("wild.org", "*.wild.org"));
        assert!(!is_of_domain("evilwild.org", "*.wild.org"));
        assert!(!is_of_domain("www.example.com", "example.com"));
        assert!(is_of_domain("example.com.", "example.com"));
        assert!(is_of_domain("xexample.com", "*example.com"));
        assert!(!is_of_domain("www.example.com", "*example.com"));
        assert!(is_of_domain("sub.wild.org", "sub.*.org"));
        assert!(is_of_domain("any.host", "*"));
    }
}
