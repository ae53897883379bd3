//! The way in: the one-time address, the cookie, the first page.

use recto_testkit::FakeHome;

use crate::support::TOKEN;
use crate::support::Test;

#[test]
fn a_login_code_works_once_and_gives_a_cookie() {
    let test = Test::new(FakeHome::new());
    let url = test.server.login_url();
    let path = url.strip_prefix(&test.server.base_url()).unwrap();
    let host = format!("Host: {}", test.address);
    // Who only looks where it leads does not use it up.
    assert_eq!(test.ask("HEAD", path, &host).status, 405);
    let answer = test.ask("GET", path, &host);
    assert_eq!(answer.status, 303);
    assert_eq!(answer.header("location"), Some("/"));
    let cookie = answer.header("set-cookie").unwrap();
    let name = format!("recto_{}", test.address.port());
    assert_eq!(cookie, format!("{name}={TOKEN}; HttpOnly; SameSite=Strict; Path=/"));
    assert_eq!(test.ask("GET", path, &host).status, 401, "it works once");
    assert_eq!(test.ask("GET", "/login", &host).status, 401);
    let page = test.ask("GET", "/", &format!("{host}\nCookie: a=b; {name}={TOKEN}"));
    assert_eq!(page.status, 200);
    assert!(page.text().contains("<title>"), "{}", page.text());
    let wrong = test.ask("GET", "/", &format!("{host}\nCookie: {name}={TOKEN}x"));
    assert_eq!(wrong.status, 401);
}
