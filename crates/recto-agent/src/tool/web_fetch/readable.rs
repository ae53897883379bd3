//! The text of an HTML page: what a reader sees, with headings, lists and links.

/// Elements whose content nobody reads.
const SILENT: [&str; 7] = ["script", "style", "noscript", "template", "svg", "head", "iframe"];

/// Elements that begin a line of their own.
const BLOCKS: [&str; 30] = [
    "address",
    "article",
    "aside",
    "blockquote",
    "br",
    "dd",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "table",
    "tr",
];

/// The text of a page. Never fails: what is no HTML is text.
pub(super) fn text(html: &str) -> String {
    let mut page = Page::default();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        page.write(before);
        if let Some(comment) = tag.strip_prefix("<!--") {
            rest = comment.split_once("-->").map_or("", |(_, rest)| rest);
            continue;
        }
        let is_tag =
            tag[1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '!');
        let Some((inside, behind)) = tag[1..].split_once('>').filter(|_| is_tag) else {
            page.write("<");
            rest = &tag[1..];
            continue;
        };
        rest = behind;
        let is_end = inside.starts_with('/');
        let name = inside.trim_start_matches('/');
        let length = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
        let name = name.get(..length).unwrap_or_default().to_ascii_lowercase();
        if !is_end && SILENT.contains(&name.as_str()) && !inside.ends_with('/') {
            rest = after_end(rest, &name);
            continue;
        }
        page.element(&name, is_end, inside);
    }
    page.write(rest);
    page.finish()
}

/// What follows the end of an element.
fn after_end<'a>(rest: &'a str, name: &str) -> &'a str {
    let end = format!("</{name}");
    let lower = rest.to_ascii_lowercase();
    let Some(at) = lower.find(&end) else { return "" };
    rest.get(at..).and_then(|rest| rest.split_once('>')).map_or("", |(_, rest)| rest)
}

#[derive(Default)]
struct Page {
    text: String,
    /// Whether blanks count.
    is_preformatted: bool,
    link: Option<String>,
}

impl Page {
    fn write(&mut self, raw: &str) {
        let text = unescaped(raw);
        if self.is_preformatted {
            self.text.push_str(&text);
            return;
        }
        for c in text.chars() {
            if !c.is_whitespace() {
                self.text.push(c);
            } else if !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
                self.text.push(' ');
            }
        }
    }

    fn line(&mut self) {
        while self.text.ends_with(' ') {
            self.text.pop();
        }
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    fn element(&mut self, name: &str, is_end: bool, inside: &str) {
        if BLOCKS.contains(&name) {
            self.line();
        }
        match (name, is_end) {
            ("h1" | "h2" | "h3" | "h4" | "h5" | "h6", false) => {
                let level = name.as_bytes().get(1).map_or(1, |digit| usize::from(digit - b'0'));
                self.text.push('\n');
                self.text.push_str(&"#".repeat(level));
                self.text.push(' ');
            }
            ("p" | "table" | "ul" | "ol", false)
                if !self.text.is_empty() && !self.text.ends_with("\n\n") =>
            {
                self.text.push('\n');
            }
            ("li", false) => self.text.push_str("- "),
            ("td" | "th", true) => self.text.push_str(" | "),
            ("pre", is_end) => self.is_preformatted = !is_end,
            ("a", false) => self.link = attribute(inside, "href"),
            ("a", true) => {
                let link = self.link.take().filter(|link| link.starts_with("http"));
                if let Some(link) = link {
                    self.text.push_str(&format!(" ({link})"));
                }
            }
            _ => {}
        }
    }

    fn finish(self) -> String {
        let mut text = String::with_capacity(self.text.len());
        let mut blank = 0;
        for line in self.text.lines().map(str::trim_end) {
            blank = if line.is_empty() { blank + 1 } else { 0 };
            if blank < 2 {
                text.push_str(line);
                text.push('\n');
            }
        }
        text.trim().to_owned()
    }
}

fn attribute(inside: &str, name: &str) -> Option<String> {
    let at = inside.to_ascii_lowercase().find(&format!("{name}="))?;
    let value = inside.get(at + name.len() + 1..)?;
    let value = match value.chars().next()? {
        quote @ ('"' | '\'') => value.get(1..)?.split(quote).next()?,
        _ => value.split(|c: char| c.is_whitespace()).next()?,
    };
    Some(unescaped(value))
}

/// The text with characters in place of their names.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        let (before, named) = rest.split_at(at);
        plain.push_str(before);
        let end = named.bytes().take(12).position(|byte| byte == b';');
        let c = end.and_then(|end| named.get(1..end)).and_then(character);
        match (c, end) {
            (Some(c), Some(end)) => {
                plain.push(c);
                rest = named.get(end + 1..).unwrap_or_default();
            }
            _ => {
                plain.push('&');
                rest = &named[1..];
            }
        }
    }
    plain.push_str(rest);
    plain
}

fn character(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let hex = number.strip_prefix(['x', 'X']).map(|hex| u32::from_str_radix(hex, 16));
        return char::from_u32(hex.unwrap_or_else(|| number.parse()).ok()?);
    }
    let named = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" => ' ',
        "ndash" => '–',
        "mdash" => '—',
        "hellip" => '…',
        "laquo" => '«',
        "raquo" => '»',
        "lsquo" => '‘',
        "rsquo" => '’',
        "ldquo" => '“',
        "rdquo" => '”',
        "copy" => '©',
        "reg" => '®',
        "trade" => '™',
        "middot" => '·',
        "bull" => '•',
        "times" => '×',
        "rarr" => '→',
        "larr" => '←',
        _ => return None,
    };
    Some(named)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_page_is_what_a_reader_sees() {
        let html = "<html><head><title>T</title></head><body><script>x<y</script><h1>Top</h1>\
            <p>One &amp; <b>two</b>\n three</p><ul><li>a<li><a href='https://b.c/'>b</a></ul>\
            <pre>  keep\n  this</pre><!-- no --> 1 < 2</body></html>";
        assert_eq!(
            text(html),
            "# Top\n\nOne & two three\n\n- a\n- b (https://b.c/)\n  keep\n  this\n1 < 2"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_a_page(html in any::<String>(), tags in "[<>/a-z!&;#= '\"-]{0,200}") {
            text(&html);
            text(&tags);
        }
    }
}
