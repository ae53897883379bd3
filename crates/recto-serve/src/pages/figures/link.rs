//! Addresses of our own pages.

use std::fmt;

use form_urlencoded::Serializer;

/// A path and what stands after its `?`.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    path: String,
    pairs: Vec<(String, String)>,
}

impl Link {
    pub(crate) fn new(path: &str) -> Link {
        Link { path: path.to_owned(), pairs: Vec::new() }
    }

    /// With a value, in place of one of the same name.
    pub(crate) fn with(&self, name: &str, value: &str) -> Link {
        let mut link = self.without(&[name]);
        link.pairs.push((name.to_owned(), value.to_owned()));
        link
    }

    /// The same, if there is a value.
    pub(crate) fn with_some(&self, name: &str, value: Option<&str>) -> Link {
        value.map_or_else(|| self.clone(), |value| self.with(name, value))
    }

    pub(crate) fn without(&self, names: &[&str]) -> Link {
        let kept = self.pairs.iter().filter(|(name, _)| !names.contains(&name.as_str()));
        Link { path: self.path.clone(), pairs: kept.cloned().collect() }
    }

    /// The same values for another page.
    pub(crate) fn at(&self, path: &str) -> Link {
        Link { path: path.to_owned(), pairs: self.pairs.clone() }
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn pairs(&self) -> &[(String, String)] {
        &self.pairs
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        if self.pairs.is_empty() {
            return Ok(());
        }
        let query = Serializer::new(String::new()).extend_pairs(&self.pairs).finish();
        write!(f, "?{query}")
    }
}

impl maud::Render for Link {
    fn render_to(&self, buffer: &mut String) {
        self.to_string().render_to(buffer);
    }
}

/// A text as a part of a path.
pub(crate) fn segment(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_cannot_become_markup_or_other_values() {
        let link = Link::new("/usage").with("project", "a&b=\"<x>#?").with("by", "model");
        assert_eq!(link.to_string(), "/usage?project=a%26b%3D%22%3Cx%3E%23%3F&by=model");
        assert_eq!(
            link.with("by", "project").without(&["project"]).to_string(),
            "/usage?by=project"
        );
        assert_eq!(link.at("/x").without(&["project", "by"]).to_string(), "/x");
        assert_eq!(segment("../a b"), "..%2Fa%20b");
    }
}
