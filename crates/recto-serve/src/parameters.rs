//! What stands after the `?` of an address. A name that is not known is an
//! error: a filter that is misspelt must not seem to have been applied.

use std::collections::BTreeMap;
use std::str::FromStr;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use recto_view::Library;
use recto_view::figures::Choice;
use recto_view::figures::Period;

use crate::answer::Failure;

/// How long one value may be.
const LONGEST_VALUE: usize = 4096;

/// The parameters of a request, each one taken once.
#[derive(Debug, Default)]
pub(crate) struct Parameters(BTreeMap<String, String>);

impl Parameters {
    pub(crate) fn parse(query: &str) -> Result<Parameters, Failure> {
        let mut parameters = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if value.len() > LONGEST_VALUE {
                let message = format!("`{}` is too long", shown(&name));
                return Err(Failure::bad_request("bad-parameter", message));
            }
            let name = name.into_owned();
            if parameters.contains_key(&name) {
                let message = format!("`{}` appears more than once", shown(&name));
                return Err(Failure::bad_request("bad-parameter", message));
            }
            parameters.insert(name, value.into_owned());
        }
        Ok(Parameters(parameters))
    }

    /// A text; an empty one is none, as forms send it.
    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        self.0.remove(name).filter(|text| !text.is_empty())
    }

    /// A value of some type.
    pub(crate) fn value<T: FromStr>(&mut self, name: &str) -> Result<Option<T>, Failure> {
        let Some(text) = self.text(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| {
            Failure::bad_request("bad-parameter", format!("invalid value for `{name}`"))
        })
    }

    /// The period that `period`, `from` and `to` name.
    pub(crate) fn period(&mut self, usual: Choice, library: &Library) -> Result<Period, Failure> {
        let [named, from, to] = ["period", "from", "to"].map(|name| self.text(name));
        let today = library.now().to_zoned(library.zone().clone()).date();
        let period = Period::named(named.as_deref(), from.as_deref(), to.as_deref(), usual, today)?;
        Ok(period)
    }

    /// Ends reading: there must be nothing left.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let Some(name) = self.0.keys().next() else { return Ok(()) };
        let message = format!("unknown parameter `{}`", shown(name));
        Err(Failure::bad_request("bad-parameter", message)
            .with_hint("/api/openapi.json lists the parameters"))
    }
}

/// A name as it can be told: it is the client's, and may be anything.
fn shown(name: &str) -> String {
    name.chars().filter(|c| c.is_ascii_graphic() && *c != '`').take(40).collect()
}

impl<S: Sync> FromRequestParts<S> for Parameters {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Parameters, Failure> {
        Parameters::parse(parts.uri.query().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_parameter_is_taken_once_and_none_is_left() {
        let mut parameters = Parameters::parse("q=a%20b+c&from=7&empty=").unwrap();
        assert_eq!(parameters.text("q").as_deref(), Some("a b c"));
        assert_eq!(parameters.value::<usize>("from").unwrap(), Some(7));
        assert_eq!(parameters.text("empty"), None);
        assert!(parameters.finish().is_ok());
        assert!(Parameters::parse("a=1&a=2").is_err());
        let unknown = Parameters::parse("sinse=7d").unwrap().finish().unwrap_err();
        assert!(format!("{unknown:?}").contains("unknown parameter `sinse`"));
        assert!(Parameters::parse("from=x").unwrap().value::<usize>("from").is_err());
    }
}
