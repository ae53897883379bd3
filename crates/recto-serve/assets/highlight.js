// Colours in code. It knows comments, strings, numbers and the words that most
// languages share; that is enough to see the shape of a piece of code. Everything
// is put in as text.

const WORDS = new Set(
  ("abstract as async await bool break case catch char class const continue crate def default delete do done " +
    "dyn elif else end enum esac except export extends extern false fi final finally float fn for from func " +
    "function go if impl implements import in int interface is lambda let local long loop match mod module move " +
    "mut new nil None not null or and package pass private protected pub public raise ref return self Self " +
    "static string struct super switch then this throw trait true True False try type typeof undefined union " +
    "unsafe use using var virtual void where while with yield then fi SELECT FROM WHERE INSERT UPDATE DELETE " +
    "CREATE TABLE JOIN ON AND OR NOT NULL ORDER BY GROUP LIMIT").split(" "),
);

const HASH = new Set("sh bash zsh py python rb ruby toml yaml yml ini conf make makefile dockerfile pl r tf".split(" "));
const DASH = new Set("sql lua hs elm".split(" "));
const PLAIN = new Set("txt text log md markdown csv tsv output diff patch".split(" "));

const LONGEST = 60_000;

function pattern(language) {
  const comments = HASH.has(language) ? "#[^\\n]*" : DASH.has(language) ? "--[^\\n]*" : "//[^\\n]*|/\\*[^]*?\\*/";
  const markup = language === "html" || language === "xml" || language === "svg" ? "<!--[^]*?-->" : comments;
  const strings = "\"(?:\\\\.|[^\"\\\\\\n])*\"|'(?:\\\\.|[^'\\\\\\n]){0,200}'|`(?:\\\\.|[^`\\\\])*`";
  return new RegExp(`(${markup})|(${strings})|\\b(\\d[\\w.]*)\\b|([A-Za-z_][\\w]*)(?=(\\()?)`, "g");
}

/** Puts colours into one element of code. */
export function highlight(code) {
  const named = code.dataset.language ?? [...code.classList].find((name) => name.startsWith("language-"))?.slice(9);
  const language = (named ?? "").toLowerCase();
  const text = code.textContent;
  code.dataset.done = "";
  if (!language || PLAIN.has(language) || text.length > LONGEST || code.childElementCount > 0) return;
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(pattern(language))) {
    const kind = match[1] ? "comment" : match[2] ? "string" : match[3] ? "number"
      : WORDS.has(match[4]) ? "word" : match[5] ? "name" : null;
    if (!kind) continue;
    if (match.index > end) parts.push(text.slice(end, match.index));
    const span = document.createElement("span");
    span.className = `code-${kind}`;
    span.textContent = match[0];
    parts.push(span);
    end = match.index + match[0].length;
  }
  parts.push(text.slice(end));
  code.replaceChildren(...parts);
}

// Only what is about to be seen is worked on.
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    watcher.unobserve(entry.target);
    highlight(entry.target);
  }
}, { rootMargin: "300px" });

/** Colours all code below an element, when it comes into view. */
export function watch(within) {
  for (const code of within.querySelectorAll("pre code:not([data-done])")) {
    if (code.dataset.language || code.className.includes("language-")) watcher.observe(code);
  }
}
