//! What `~/.aws/config` and `~/.aws/credentials` say, for stores that are S3.
//!
//! Only one profile is read, and of it only what names credentials, a region and an endpoint.
//! Variables of the environment count before the files, as in other programs.

use std::path::Path;

use crate::error::CollectError;

/// What is read, and the variable that says the same.
const KNOWN: [(&str, &str); 6] = [
    ("aws_access_key_id", "AWS_ACCESS_KEY_ID"),
    ("aws_secret_access_key", "AWS_SECRET_ACCESS_KEY"),
    ("aws_session_token", "AWS_SESSION_TOKEN"),
    ("region", "AWS_REGION"),
    ("endpoint_url", "AWS_ENDPOINT_URL"),
    ("s3.addressing_style", "AWS_VIRTUAL_HOSTED_STYLE_REQUEST"),
];
/// Credentials belong together: those of a file are not mixed with those of the environment.
const CREDENTIALS: [&str; 3] = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];
/// Who has one of these says where credentials come from.
const OTHER_WAYS: [&str; 4] = [
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_SKIP_SIGNATURE",
];

/// The variables, and what the files of the user add to them. The files are those that
/// `AWS_SHARED_CREDENTIALS_FILE` and `AWS_CONFIG_FILE` name, or those in `~/.aws`; the profile is
/// `AWS_PROFILE` or `default`.
pub fn aws_settings(
    variables: &[(String, String)],
    user_home: Option<&Path>,
) -> Result<Vec<(String, String)>, CollectError> {
    let given = |name: &str| variables.iter().find(|(one, _)| one == name).map(|(_, text)| text);
    let mut all = variables.to_vec();
    let profile = given("AWS_PROFILE").map_or("default", String::as_str);
    let place = |variable: &str, name: &str| {
        let named = given(variable).map(std::path::PathBuf::from);
        named.or_else(|| Some(user_home?.join(".aws").join(name)))
    };
    let credentials = place("AWS_SHARED_CREDENTIALS_FILE", "credentials");
    let config = place("AWS_CONFIG_FILE", "config");
    let mut found = Vec::new();
    for (path, head) in [
        (credentials, profile.to_owned()),
        (
            config,
            if profile == "default" { profile.to_owned() } else { format!("profile {profile}") },
        ),
    ] {
        let Some(path) = path else { continue };
        let bytes = recto_store::read_credentials(&path)?.unwrap_or_default();
        found.extend(section(&String::from_utf8_lossy(&bytes), &head));
    }
    let has_credentials = CREDENTIALS.iter().chain(&OTHER_WAYS).any(|name| given(name).is_some());
    let has_region = given("AWS_REGION").or(given("AWS_DEFAULT_REGION")).is_some();
    let has_endpoint = given("AWS_ENDPOINT_URL").or(given("AWS_ENDPOINT")).is_some();
    for (name, value) in found {
        let Some((_, variable)) = KNOWN.iter().find(|(known, _)| *known == name) else { continue };
        let is_settled = all.iter().any(|(one, _)| one == variable)
            || (CREDENTIALS.contains(variable) && has_credentials)
            || (*variable == "AWS_REGION" && has_region)
            || (*variable == "AWS_ENDPOINT_URL" && has_endpoint);
        if !is_settled {
            let value = match name.as_str() {
                "s3.addressing_style" => (value == "virtual").to_string(),
                _ => value,
            };
            all.push(((*variable).to_owned(), value));
        }
    }
    Ok(all)
}

/// The lines of one section. Lines that are indented belong to the name above them.
fn section(text: &str, head: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut is_in = false;
    let mut above = String::new();
    for line in text.lines() {
        let plain = line.trim();
        if plain.is_empty() || plain.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = plain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let name: Vec<&str> = name.split_whitespace().collect();
            is_in = name.join(" ") == head;
            continue;
        }
        let Some((name, value)) = plain.split_once('=').filter(|_| is_in) else { continue };
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim().to_owned());
        if line.starts_with([' ', '\t']) {
            found.push((format!("{above}.{name}"), value));
        } else {
            above.clone_from(&name);
            if !value.is_empty() {
                found.push((name, value));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(variables: &[(&str, &str)]) -> Vec<(String, String)> {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".aws");
        std::fs::create_dir(&folder).unwrap();
        let credentials = "# mine\n[default]\naws_access_key_id = A\naws_secret_access_key=S\n\
            role = x\n[team]\naws_access_key_id = B\naws_secret_access_key = T = 1\n\
            aws_session_token = U\n";
        std::fs::write(folder.join("credentials"), credentials).unwrap();
        let config = "[default]\nregion = eu-west-1\ns3 =\n  addressing_style = virtual\n\
            [profile  team]\nregion=us-east-2\nendpoint_url = https://s3.acme.dev\n";
        std::fs::write(folder.join("config"), config).unwrap();
        let given: Vec<(String, String)> =
            variables.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect();
        let mut all = aws_settings(&given, Some(home.path())).unwrap();
        all.retain(|one| !given.contains(one));
        all.sort();
        all
    }

    fn own(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect()
    }

    #[test]
    fn the_files_of_the_user_say_what_the_environment_does_not() {
        let usual = own(&[
            ("AWS_ACCESS_KEY_ID", "A"),
            ("AWS_REGION", "eu-west-1"),
            ("AWS_SECRET_ACCESS_KEY", "S"),
            ("AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "true"),
        ]);
        assert_eq!(settings(&[]), usual);
        let team = own(&[
            ("AWS_ACCESS_KEY_ID", "B"),
            ("AWS_ENDPOINT_URL", "https://s3.acme.dev"),
            ("AWS_REGION", "us-east-2"),
            ("AWS_SECRET_ACCESS_KEY", "T = 1"),
            ("AWS_SESSION_TOKEN", "U"),
        ]);
        assert_eq!(settings(&[("AWS_PROFILE", "team")]), team);
    }

    #[test]
    fn credentials_of_the_environment_are_not_mixed_with_those_of_a_file() {
        let some = settings(&[
            ("AWS_PROFILE", "team"),
            ("AWS_ACCESS_KEY_ID", "E"),
            ("AWS_SECRET_ACCESS_KEY", "F"),
            ("AWS_DEFAULT_REGION", "eu-north-1"),
        ]);
        assert_eq!(some, own(&[("AWS_ENDPOINT_URL", "https://s3.acme.dev")]));
        assert_eq!(aws_settings(&[], None).unwrap(), []);
    }
}
