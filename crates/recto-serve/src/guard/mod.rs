//! Who is answered. Every request passes [`Guard::check`] and every answer
//! [`headers::dress`], whatever the route: pages, data, events, files, and
//! what is not there.
//!
//! The order matters: a request to another host learns nothing, not even that
//! a token is wanted.
//!
//! 1. `Host` is one of ours, exactly. A name that was rebound to 127.0.0.1 is not.
//! 2. The method is one that the address knows.
//! 3. The request does not come from a page of another origin.
//! 4. The token is there, as a cookie or as `Authorization: Bearer`.
//! 5. What would change something says that it comes from a page of ours, unless it
//!    has the token itself, and is JSON: no form of another page can send either.

mod headers;
mod hosts;
mod login;
mod refused;
mod token;

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::HeaderValue;
use axum::http::Method;
use axum::http::Request;
use axum::http::Response;
use axum::http::StatusCode;
use axum::http::Uri;
use axum::http::header;

use crate::answer::content;
use crate::api::is_edit;

pub(crate) use headers::Untrusted;
pub(crate) use headers::dress;
pub(crate) use hosts::Hosts;
pub(crate) use login::Codes;
pub(crate) use refused::dress_page;
pub use token::Token;

/// The longest address that is read.
const LONGEST_ADDRESS: usize = 8 * 1024;

/// Who is answered.
#[derive(Debug)]
pub(crate) struct Guard {
    pub(crate) token: Token,
    pub(crate) hosts: Hosts,
    pub(crate) codes: Codes,
    /// The name of the cookie: cookies of one host are shared by all its ports.
    pub(crate) cookie: String,
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is for another host.
    Host,
    /// It has a method that is not used at its address.
    Method {
        /// Those that are.
        allowed: &'static str,
    },
    /// It comes from a page of another origin.
    Origin,
    /// It has no token, or a wrong one.
    Token,
    /// Its address is too long.
    Address,
    /// It would change something, and does not say which page asks for that.
    NoOrigin,
    /// It would change something, and is not JSON.
    ContentType,
}

impl Guard {
    /// Whether a request is answered. `/login` needs no token: it gives one.
    pub(crate) fn check<B>(&self, request: &Request<B>) -> Result<(), Refusal> {
        let headers = request.headers();
        let host = self.hosts.check(request.uri(), headers).ok_or(Refusal::Host)?;
        let is_edit = is_edit(request.uri().path());
        let is_posted = request.method() == Method::POST;
        if is_posted != is_edit || !(is_posted || is_reading(request.method())) {
            let allowed = if is_edit { "POST" } else { "GET, HEAD" };
            return Err(Refusal::Method { allowed });
        }
        // Nobody types an address that changes something.
        let sites: &[&str] = if is_posted { &["same-origin"] } else { &["same-origin", "none"] };
        if !is_from_here(headers, host, sites) && !self.is_from_login_page(request) {
            return Err(Refusal::Origin);
        }
        if request.uri().to_string().len() > LONGEST_ADDRESS {
            return Err(Refusal::Address);
        }
        if request.uri().path() != "/login" && !self.is_known(headers) {
            return Err(Refusal::Token);
        }
        if is_posted {
            return check_edit(headers);
        }
        Ok(())
    }

    /// Whether whoever asks has the token, and so is not a stranger.
    pub(crate) fn knows<B>(&self, request: &Request<B>) -> bool {
        self.is_known(request.headers()) && self.check(request).is_ok()
    }

    /// Whether the page of `recto serve --open` leads a browser here: a file has no origin,
    /// so the browser takes it for another site. The code says that it is that page, since
    /// nobody else can know it.
    fn is_from_login_page<B>(&self, request: &Request<B>) -> bool {
        let headers = request.headers();
        let is_only = |name: &str, value: &str| {
            let mut given = headers.get_all(name).into_iter();
            given.next().is_some_and(|first| first == value) && given.next().is_none()
        };
        request.uri().path() == "/login"
            && *request.method() == Method::GET
            && comes_from_elsewhere(headers)
            && is_only("sec-fetch-mode", "navigate")
            && is_only("sec-fetch-dest", "document")
            && !headers.contains_key(header::ORIGIN)
            && login_code(request.uri()).is_some_and(|code| self.codes.is_open(code))
    }

    /// Whether a request has the token. A header counts before a cookie: who
    /// sends a wrong one is told.
    fn is_known(&self, headers: &HeaderMap) -> bool {
        if let Some(value) = headers.get(header::AUTHORIZATION) {
            let text = value.to_str().unwrap_or_default();
            let (scheme, given) = text.split_once(' ').unwrap_or_default();
            return scheme.eq_ignore_ascii_case("Bearer") && self.token.is(given.trim());
        }
        let cookies = headers.get_all(header::COOKIE).into_iter();
        let cookies = cookies.filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|text| text.split(';'));
        pairs.any(|pair| {
            let (name, value) = pair.trim().split_once('=').unwrap_or_default();
            name == self.cookie && self.token.is(value)
        })
    }

    /// The answer to a one-time address.
    pub(crate) fn login<B>(&self, request: &Request<B>) -> Response<Body> {
        let code = login_code(request.uri());
        if !code.is_some_and(|code| self.codes.redeem(code)) {
            return plain(
                StatusCode::UNAUTHORIZED,
                "This address was used before, or is too old.\n\
                 Press Enter where `recto serve` runs: it prints a new one.\n",
            );
        }
        let cookie =
            format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie, self.token.text());
        let mut response = if comes_from_elsewhere(request.headers()) {
            // The browser would send no cookie along a way that began elsewhere. This page
            // is ours, so a new way begins.
            content(StatusCode::OK, "text/html; charset=utf-8", ENTRANCE)
        } else {
            let mut response = plain(StatusCode::SEE_OTHER, "");
            response.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/"));
            response
        };
        match HeaderValue::from_str(&cookie) {
            Ok(cookie) => {
                response.headers_mut().insert(header::SET_COOKIE, cookie);
                response
            }
            Err(_) => plain(StatusCode::INTERNAL_SERVER_ERROR, "The token must be a header.\n"),
        }
    }

    /// The answer to a request that is refused.
    pub(crate) fn refuse(&self, refusal: Refusal) -> Response<Body> {
        match refusal {
            Refusal::Host => plain(StatusCode::MISDIRECTED_REQUEST, "Unknown host header.\n"),
            Refusal::Method { allowed } => {
                let mut response = plain(
                    StatusCode::METHOD_NOT_ALLOWED,
                    "This address does not accept this method.\n",
                );
                let allowed = HeaderValue::from_static(allowed);
                response.headers_mut().insert(header::ALLOW, allowed);
                response
            }
            Refusal::Origin => plain(
                StatusCode::FORBIDDEN,
                "A page of another origin asked for this.\n\
                 Type the address, or open it from a page of this server.\n",
            ),
            Refusal::NoOrigin => plain(
                StatusCode::FORBIDDEN,
                "The request does not say which page asks for a change.\n\
                 Programs send the token as `Authorization: Bearer`.\n",
            ),
            Refusal::ContentType => plain(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "Send changes as `Content-Type: application/json`.\n",
            ),
            Refusal::Address => plain(StatusCode::URI_TOO_LONG, "The address is too long.\n"),
            Refusal::Token => {
                let mut response = plain(
                    StatusCode::UNAUTHORIZED,
                    "Open the address that `recto serve` has printed.\n\
                     Press Enter where it runs: it prints a new one.\n",
                );
                let scheme = HeaderValue::from_static("Bearer");
                response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
                response
            }
        }
    }
}

/// Leads on to the first page.
const ENTRANCE: &str = "<!doctype html><meta charset=\"utf-8\"><title>recto</title>\
    <meta http-equiv=\"refresh\" content=\"0;url=/\"><a href=\"/\">recto</a>\n";

/// The code of a one-time address.
fn login_code(uri: &Uri) -> Option<&str> {
    uri.query().unwrap_or_default().strip_prefix("code=")
}

/// Whether a browser says that another site led here.
fn comes_from_elsewhere(headers: &HeaderMap) -> bool {
    let mut sites = headers.get_all("sec-fetch-site").into_iter();
    sites.next().is_some_and(|site| site == "cross-site") && sites.next().is_none()
}

fn is_reading(method: &Method) -> bool {
    *method == Method::GET || *method == Method::HEAD
}

/// What a request must have that changes something. A browser sends its cookie with
/// whatever a page asks for, so it must have said which page asks; that is compared
/// before. A form cannot send JSON, and a script of another origin may not.
fn check_edit(headers: &HeaderMap) -> Result<(), Refusal> {
    if !headers.contains_key(header::AUTHORIZATION) && !headers.contains_key(header::ORIGIN) {
        return Err(Refusal::NoOrigin);
    }
    let mut types = headers.get_all(header::CONTENT_TYPE).into_iter();
    let is_json = types.next().is_some_and(|value| {
        let essence = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default();
        essence.trim().eq_ignore_ascii_case("application/json")
    });
    if is_json && types.next().is_none() { Ok(()) } else { Err(Refusal::ContentType) }
}

/// Whether a request was not made by a page of another origin. A browser says
/// who asks in `Sec-Fetch-Site`, older ones in `Origin`; a program says neither.
/// `same-site` is not enough: another port of this machine is the same site.
fn is_from_here(headers: &HeaderMap, host: &str, allowed: &[&str]) -> bool {
    let mut sites = headers.get_all("sec-fetch-site").into_iter();
    let is_site_ours = sites.all(|site| allowed.iter().any(|allowed| site == allowed));
    let mut origins = headers.get_all(header::ORIGIN).into_iter();
    let is_origin_ours = origins.all(|origin| {
        let origin = origin.to_str().unwrap_or_default();
        origin.strip_prefix("http://").is_some_and(|given| given.eq_ignore_ascii_case(host))
    });
    is_site_ours && is_origin_ours
}

fn plain(status: StatusCode, text: &'static str) -> Response<Body> {
    content(status, "text/plain; charset=utf-8", text)
}
