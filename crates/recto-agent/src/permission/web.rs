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

/// Sites of documentation that are fetched from without a question, unless a rule says otherwise.
/// The names are exact: a name below one of them is another site.
const DOCUMENTATION: &[&str] = &[
    "agentskills.io",
    "angular.io",
    "asp.net",
    "blazor.net",
    "bun.sh",
    "cloud.google.com",
    "code.claude.com",
    "cypress.io",
    "d3js.org",
    "dev.mysql.com",
    "devcenter.heroku.com",
    "developer.android.com",
    "developer.apple.com",
    "developer.mozilla.org",
    "doc.rust-lang.org",
    "docs.aws.amazon.com",
    "docs.djangoproject.com",
    "docs.flutter.dev",
    "docs.netlify.com",
    "docs.oracle.com",
    "docs.python.org",
    "docs.spring.io",
    "docs.swift.org",
    "docs.unity.com",
    "docs.unrealengine.com",
    "dotnet.microsoft.com",
    "en.cppreference.com",
    "expressjs.com",
    "fastapi.tiangolo.com",
    "flask.palletsprojects.com",
    "getbootstrap.com",
    "git-scm.com",
    "gradle.org",
    "graphql.org",
    "hibernate.org",
    "httpd.apache.org",
    "jestjs.io",
    "jquery.com",
    "jupyter.org",
    "keras.io",
    "kotlinlang.org",
    "kubernetes.io",
    "laravel.com",
    "learn.microsoft.com",
    "matplotlib.org",
    "maven.apache.org",
    "modelcontextprotocol.io",
    "nextjs.org",
    "nginx.org",
    "nodejs.org",
    "numpy.org",
    "pandas.pydata.org",
    "platform.claude.com",
    "prisma.io",
    "pytorch.org",
    "react.dev",
    "reactnative.dev",
    "reactrouter.com",
    "redis.io",
    "redux.js.org",
    "requests.readthedocs.io",
    "ruby-doc.org",
    "scikit-learn.org",
    "selenium.dev",
    "spark.apache.org",
    "symfony.com",
    "tailwindcss.com",
    "threejs.org",
    "tomcat.apache.org",
    "vuejs.org",
    "webpack.js.org",
    "www.ansible.com",
    "www.docker.com",
    "www.mongodb.com",
    "www.php.net",
    "www.postgresql.org",
    "www.sqlite.org",
    "www.tensorflow.org",
    "www.terraform.io",
    "www.typescriptlang.org",
];

/// Parts of sites that hold documentation: a host, and the folder.
const DOCUMENTATION_FOLDERS: &[(&str, &str)] =
    &[("github.com", "/anthropics"), ("vercel.com", "/docs")];

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
        if is_documentation(url) {
            return Check::Allow(Reason::None);
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

/// Whether an address is one of documentation that everybody may read.
fn is_documentation(url: &str) -> bool {
    let Ok(url) = Url::parse(url.trim()) else { return false };
    let Some(host) = url.host_str() else { return false };
    let in_folder = |folder: &str| {
        url.path().strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    DOCUMENTATION.binary_search(&host).is_ok()
        || DOCUMENTATION_FOLDERS.iter().any(|(site, folder)| *site == host && in_folder(folder))
}

/// The host of an address, as the one who fetches it reads it.
fn host(url: &str) -> Option<String> {
    Url::parse(url.trim()).ok()?.host_str().map(str::to_ascii_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documentation_is_an_exact_host_or_a_folder_of_one() {
        assert!(DOCUMENTATION.is_sorted());
        for url in [
            "https://docs.python.org",
            "http://DOCS.python.org:8443/3/library",
            "https://github.com/anthropics",
            "https://github.com/anthropics/x",
            "https://vercel.com/docs/a",
        ] {
            assert!(is_documentation(url), "{url}");
        }
        for url in [
            "https://sub.docs.python.org/",
            "https://docs.python.org./",
            "https://docs.python.org@evil.org/",
            "https://docs.python.org.evil.org/",
            "https://github.com/anthropicsx",
            "https://github.com/anthropics/../evil",
            "https://github.com/anthropics%2f..%2fevil",
            "https://vercel.com/",
            "docs.python.org",
        ] {
            assert!(!is_documentation(url), "{url}");
        }
    }

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
