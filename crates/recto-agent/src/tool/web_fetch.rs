//! `WebFetch`: a page as text, and what a model says about it.

mod readable;

use std::time::Duration;
use std::time::Instant;

use reqwest::Url;
use serde_json::json;

use super::context::Call;
use super::host::HostRequest;
use super::outcome::ToolOutcome;
use super::schema::Field;
use super::schema::Kind;
use super::schema::Schema;

pub(super) const ABOUT: &str = "Fetches a page and answers a question about it. For local \
servers use curl.";

pub(super) const SCHEMA: Schema = Schema::closed(&[
    Field::required("url", Kind::Url, "The address"),
    Field::required("prompt", Kind::String, "What you want to know of the page"),
]);

const LONGEST_URL: usize = 2000;

/// Bytes of a page that are read.
const MOST_BYTES: usize = 10 * 1024 * 1024;

/// Characters of a page that are used.
const MOST_TEXT: usize = 100_000;

const LIMIT: Duration = Duration::from_secs(60);

/// How pages are fetched.
#[derive(Debug, Clone, Default)]
pub struct Web {
    /// Where to ask first whether a domain may be fetched: an address that answers
    /// `{"can_fetch": true}` to `?domain=`. Nobody is asked if there is none.
    pub preflight: Option<String>,
}

/// The address, if it is one that can be fetched.
fn address(text: &str) -> Result<Url, String> {
    let invalid = || "Invalid URL".to_owned();
    let url = Url::parse(text).map_err(|_| invalid())?;
    let host = url.host_str().unwrap_or_default();
    let has_user = !url.username().is_empty() || url.password().is_some();
    if text.len() > LONGEST_URL || has_user || host.is_empty() {
        return Err(invalid());
    }
    if !host.contains('.') {
        return Err(
            "WebFetch cannot fetch localhost or other hostnames without a dot. To reach a \
                    local server, use Bash with curl instead."
                .to_owned(),
        );
    }
    Ok(url)
}

pub(super) async fn run(call: &Call<'_>) -> ToolOutcome {
    let began = Instant::now();
    let given = call.text("url");
    let mut url = match address(given) {
        Ok(url) => url,
        Err(text) => return ToolOutcome::failed(text),
    };
    let work = async {
        let client = client()?;
        let host = url.host_str().unwrap_or_default().to_owned();
        if let Some(preflight) = &call.session.web.preflight {
            may_fetch(&client, preflight, &host).await?;
        }
        match url.scheme() {
            "http" => url.set_scheme("https").map_err(|()| "Invalid URL".to_owned())?,
            "https" => {}
            other => return Err(format!("WebFetch cannot fetch {other}: addresses.")),
        }
        fetch(&client, url).await
    };
    let fetched = tokio::select! {
        fetched = tokio::time::timeout(LIMIT, work) => fetched,
        () = call.cancel.cancelled() => return ToolOutcome::failed("Interrupted."),
    };
    let page = match fetched {
        Ok(Ok(page)) => page,
        Ok(Err(text)) => return ToolOutcome::failed(text),
        Err(_) => return ToolOutcome::failed(format!("{given} did not answer in time.")),
    };
    let prompt = call.text("prompt").to_owned();
    let result = match page.redirect {
        Some(to) => format!(
            "The address leads to another host: {to}\nIf that is what you want, call WebFetch \
             again with it."
        ),
        None => {
            let ask =
                |answer| HostRequest::AskAboutPage { page: page.text.clone(), prompt, answer };
            call.session.host.ask(ask).await.flatten().unwrap_or(page.text)
        }
    };
    let structured = json!({
        "bytes": page.bytes,
        "code": page.code,
        "codeText": page.code_text,
        "result": result,
        "durationMs": began.elapsed().as_millis() as u64,
        "url": given,
    });
    ToolOutcome::text(result, structured)
}

fn client() -> Result<reqwest::Client, String> {
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("recto/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| format!("The HTTP client cannot be started: {error}"))
}

async fn may_fetch(client: &reqwest::Client, preflight: &str, host: &str) -> Result<(), String> {
    let unknown = || {
        format!(
            "Unable to verify if domain {host} is safe to fetch. This may be due to network \
             restrictions or enterprise security policies blocking claude.ai."
        )
    };
    let url = Url::parse_with_params(preflight, [("domain", host)]).map_err(|_| unknown())?;
    let answer = client.get(url).timeout(Duration::from_secs(10)).send().await;
    let answer = answer.map_err(|_| unknown())?;
    if !answer.status().is_success() {
        return Err(unknown());
    }
    let text = answer.text().await.map_err(|_| unknown())?;
    let answer: serde_json::Value = serde_json::from_str(&text).map_err(|_| unknown())?;
    match answer.get("can_fetch").and_then(serde_json::Value::as_bool) {
        Some(true) => Ok(()),
        _ => Err(format!("Claude Code is unable to fetch from {host}")),
    }
}

struct Page {
    text: String,
    bytes: usize,
    code: u16,
    code_text: String,
    redirect: Option<String>,
}

/// Fetches a page, and follows redirects on its own host.
async fn fetch(client: &reqwest::Client, url: Url) -> Result<Page, String> {
    let mut url = url;
    for _ in 0..10 {
        let answer = client.get(url.clone()).send().await;
        let answer = answer.map_err(|error| format!("{url} cannot be fetched: {error}"))?;
        let status = answer.status();
        let code_text = status.canonical_reason().unwrap_or_default().to_owned();
        if status.is_redirection() {
            let to = answer.headers().get("location").and_then(|to| to.to_str().ok());
            let to = to.and_then(|to| url.join(to).ok()).ok_or("The redirect leads nowhere.")?;
            if bare(&to) == bare(&url) {
                url = to;
                continue;
            }
            let redirect = Some(to.to_string());
            let code = status.as_u16();
            return Ok(Page { text: String::new(), bytes: 0, code, code_text, redirect });
        }
        if !status.is_success() {
            return Err(format!("Request failed with status code {}", status.as_u16()));
        }
        let kind = answer.headers().get("content-type").and_then(|kind| kind.to_str().ok());
        let is_html = kind.is_none_or(|kind| kind.contains("html"));
        let bytes = body(answer).await?;
        let text = String::from_utf8_lossy(&bytes);
        let text = if is_html { readable::text(&text) } else { text.into_owned() };
        let text = text.chars().take(MOST_TEXT).collect();
        let code = status.as_u16();
        return Ok(Page { text, bytes: bytes.len(), code, code_text, redirect: None });
    }
    Err("Too many redirects".to_owned())
}

fn bare(url: &Url) -> Option<&str> {
    url.host_str().map(|host| host.strip_prefix("www.").unwrap_or(host))
}

async fn body(mut answer: reqwest::Response) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| error.to_string())? {
        if bytes.len() + chunk.len() > MOST_BYTES {
            return Err(format!("The page is larger than {} MB.", MOST_BYTES / 1024 / 1024));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}
