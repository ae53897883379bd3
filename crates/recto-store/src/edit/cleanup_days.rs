//! Setting after how many days the client deletes logs.
//!
//! A settings file can hold secrets: one value changes, and every other byte stays where it is.

use fs_err as fs;
use jiff::Timestamp;
use recto_log::json::Patch;
use recto_log::json::Step;
use recto_log::json::Value;

use crate::Home;
use crate::StoreError;
use crate::edit::error::EditError;
use crate::publish::FileIdentity;
use crate::publish::Intent;
use crate::publish::Journal;
use crate::publish::Operation;
use crate::read_small;

const KEY: &str = "cleanupPeriodDays";

impl Journal {
    /// Sets `cleanupPeriodDays` in the user's settings. Nothing is done if they say so already.
    pub fn set_cleanup_days(
        &mut self,
        home: &Home,
        days: u64,
        time: Timestamp,
    ) -> Result<Option<Operation>, StoreError> {
        let path = home.settings();
        let intent = Intent {
            home,
            name: "home",
            arguments: vec!["--keep".to_owned(), days.to_string()],
            time,
            source: None,
            result: None,
        };
        let is_there = fs::symlink_metadata(&path).is_ok();
        if !is_there {
            let new = with_days(b"{}\n", days).unwrap_or_default();
            let mut transaction = self.begin(intent)?;
            transaction.create(&path, |out| Ok(out.write_all(&new)?))?;
            return Ok(Some(transaction.commit()?));
        }
        let identity = FileIdentity::of(&path)?;
        let old = read_small(&path)?;
        let bad = || EditError::BadSettings { path: path.clone() };
        let new = with_days(&old, days).ok_or_else(bad)?;
        if new == old {
            return Ok(None);
        }
        let mut transaction = self.begin(intent)?;
        transaction.replace(&path, &identity, |out| Ok(out.write_all(&new)?))?;
        Ok(Some(transaction.commit()?))
    }
}

/// Settings with another number of days; nothing if they are no JSON object.
fn with_days(settings: &[u8], days: u64) -> Option<Vec<u8>> {
    let object = Value::parse(settings.trim_ascii()).ok()?;
    let number = days.to_string();
    if object.get(KEY).is_some() {
        let start = settings.len() - settings.trim_ascii_start().len();
        let mut patch = Patch::new(settings.trim_ascii()).ok()?;
        patch.set(&[Step::Key(KEY)], number.as_bytes()).ok()?;
        let end = settings.trim_ascii_end().len();
        return Some([&settings[..start], &patch.finish(), &settings[end..]].concat());
    }
    let open = memchr::memchr(b'{', settings).filter(|_| object.bytes().starts_with(b"{"))?;
    let (before, after) = settings.split_at(open + 1);
    let space = &after[..after.len() - after.trim_ascii_start().len()];
    // A member stands where the first one stood, and as that one did.
    Some(match after.trim_ascii_start().starts_with(b"}") {
        true => {
            let rest = after.trim_ascii_start();
            [before, format!("\n  \"{KEY}\": {number}\n").as_bytes(), rest].concat()
        }
        false => [before, space, format!("\"{KEY}\": {number},").as_bytes(), after].concat(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_changes_and_the_rest_stays() {
        let set = |text: &str| with_days(text.as_bytes(), 365).map(String::from_utf8);
        let set = |text: &str| set(text).map(Result::unwrap);
        for (before, after) in [
            ("{}", "{\n  \"cleanupPeriodDays\": 365\n}"),
            (" { }\n", " {\n  \"cleanupPeriodDays\": 365\n}\n"),
            (
                "{\n  \"env\": {\"TOKEN\" : \"x\\u0041\"}\n}\n",
                "{\n  \"cleanupPeriodDays\": 365,\n  \"env\": {\"TOKEN\" : \"x\\u0041\"}\n}\n",
            ),
            ("{\"a\":1}", "{\"cleanupPeriodDays\": 365,\"a\":1}"),
            (
                "\n{\"a\": 1e3,\t\"cleanupPeriodDays\" : 30 , \"b\":[ ]}\n\n",
                "\n{\"a\": 1e3,\t\"cleanupPeriodDays\" : 365 , \"b\":[ ]}\n\n",
            ),
            ("{\"cleanupPeriodDays\":365}", "{\"cleanupPeriodDays\":365}"),
        ] {
            assert_eq!(set(before).as_deref(), Some(after), "{before}");
        }
        for bad in ["", "[]", "{", "{\"a\":}", "nonsense", "[{}]"] {
            assert_eq!(set(bad), None, "{bad}");
        }
    }
}
