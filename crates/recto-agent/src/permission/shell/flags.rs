//! Commands that only look as long as each of their flags is one of those that are known to.
//!
//! A flag is known in the spelling that a person writes: `-n 3` and `--max-count=3`, but not
//! `-n3`, which is a number for one command and another flag for the next.

/// The flags of a command.
pub(crate) struct Flags {
    /// Flags without a value: one word of all short ones, then the long ones.
    pub(crate) plain: &'static str,
    /// Flags with a value, after `=` or as the next word. `#` after one: a number. `=` after one:
    /// never the next word.
    pub(crate) valued: &'static str,
    /// Short flags that a number may be written to: `-A3`. `0` stands for a number alone: `-5`.
    pub(crate) numbered: &'static str,
}

/// What is left of the words of a command when its flags are taken away.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sorted<'a> {
    /// Flags, as they are written, without values.
    pub(crate) flags: Vec<&'a str>,
    /// All other words.
    pub(crate) operands: Vec<&'a str>,
    /// How many flags stand before the first operand.
    pub(crate) before: usize,
}

impl Flags {
    /// Takes the flags away. `None` if one of them is not known.
    pub(crate) fn sort<'a>(&self, words: &[&'a str]) -> Option<Sorted<'a>> {
        let mut sorted = Sorted::default();
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            if *word == "--" {
                sorted.operands.extend(rest.as_slice());
                break;
            }
            if !word.starts_with('-') || *word == "-" {
                sorted.operands.push(word);
                continue;
            }
            let (flag, value) = match word.split_once('=') {
                Some((flag, value)) if flag.starts_with("--") => (flag, Some(value)),
                _ => (*word, None),
            };
            if self.has_formats() && matches!(flag, "--format" | "--pretty") {
                value.or_else(|| rest.next().copied()).filter(|value| is_format(value))?;
            } else if let Some(kind) = self.value_of(flag) {
                let next = || rest.next().copied().filter(|_| kind != "=");
                value.or_else(next).filter(|value| kind != "#" || is_number(value))?;
            } else if value.is_some() || !(self.is_plain(flag) || self.is_number(flag)) {
                return None;
            }
            if sorted.operands.is_empty() {
                sorted.before += 1;
            }
            sorted.flags.push(flag);
        }
        Some(sorted)
    }

    /// What stands after a flag that takes a value.
    fn value_of(&self, flag: &str) -> Option<&'static str> {
        let mut known = self.valued.split(' ').filter_map(|known| known.strip_prefix(flag));
        known.find(|kind| matches!(*kind, "" | "#" | "=") && !flag.is_empty())
    }

    fn has_formats(&self) -> bool {
        self.plain.split(' ').any(|known| known == "%")
    }

    fn is_plain(&self, flag: &str) -> bool {
        let (short, long) = self.plain.split_once(' ').unwrap_or((self.plain, ""));
        match flag.strip_prefix("--") {
            Some(name) => long.split(' ').any(|known| known == name),
            None => flag.chars().skip(1).all(|letter| short.contains(letter)),
        }
    }

    fn is_number(&self, flag: &str) -> bool {
        let text = flag.trim_start_matches('-');
        let digits = text.strip_prefix(|c: char| self.numbered.contains(c) && !c.is_ascii_digit());
        let digits = digits.or_else(|| Some(text).filter(|_| self.numbered.contains('0')));
        digits.is_some_and(is_number)
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

/// A format of `git` that no setting can give another meaning.
fn is_format(value: &str) -> bool {
    const NAMES: &[&str] =
        &["oneline", "short", "medium", "full", "fuller", "reference", "email", "raw", "mboxrd"];
    value.contains('%') || NAMES.contains(&value)
}

/// `git` commands.
pub(crate) const GIT: &[(&str, Flags)] = &[
    (
        "status",
        Flags {
            plain: "bsv ahead-behind branch column ignored long no-ahead-behind no-column no-renames porcelain renames short verbose",
            valued: "--find-renames --ignore-submodules --untracked-files -u",
            numbered: "",
        },
    ),
    (
        "log",
        Flags {
            plain: "ps % abbrev-commit all author-date-order boundary branches cherry-mark cherry-pick color date-order decorate dense first-parent follow full-history graph left-right merges name-only name-status no-color no-ext-diff no-merges no-patch no-walk numstat oneline patch pickaxe-all pickaxe-regex relative-date remotes reverse shortstat simplify-merges source sparse stat tags topo-order walk-reflogs",
            valued: "--after --author --before --committer --date --diff-filter --grep --max-count# --since --skip# --until -G -S -n#",
            numbered: "0",
        },
    ),
    (
        "diff",
        Flags {
            plain: "MRpsu binary cached check color color-words dirstat exit-code find-copies find-renames full-index function-context histogram ignore-all-space ignore-blank-lines ignore-space-at-eol ignore-space-change minimal name-only name-status no-color no-ext-diff no-index no-renames numstat patience pickaxe-all pickaxe-regex quiet shortstat staged stat summary word-diff",
            valued: "--abbrev= --diff-algorithm --diff-filter --inter-hunk-context --relative -G -S",
            numbered: "",
        },
    ),
    (
        "show",
        Flags {
            plain: "mps % abbrev-commit color color-words first-parent graph name-only name-status no-color no-ext-diff no-patch numstat oneline patch quiet raw shortstat stat word-diff",
            valued: "--date --diff-filter",
            numbered: "",
        },
    ),
    (
        "branch",
        Flags {
            plain: "ailrv all color column ignore-case list merged no-abbrev no-color no-column no-merged remotes show-current verbose",
            valued: "--abbrev= --contains --no-contains --points-at --sort",
            numbered: "",
        },
    ),
    (
        "tag",
        Flags {
            plain: "il column ignore-case list no-column",
            valued: "--contains --merged --points-at --sort -n#",
            numbered: "",
        },
    ),
    ("remote", Flags { plain: "v verbose", valued: "", numbered: "" }),
    (
        "rev-parse",
        Flags {
            plain: " abbrev-ref absolute-git-dir git-common-dir git-dir is-bare-repository is-inside-work-tree short show-cdup show-prefix show-toplevel symbolic symbolic-full-name verify",
            valued: "",
            numbered: "",
        },
    ),
    (
        "rev-list",
        Flags {
            plain: " all branches count first-parent graph merges no-merges oneline remotes reverse tags",
            valued: "--after --author --grep --max-count# --since --skip# --until -n#",
            numbered: "",
        },
    ),
    (
        "ls-files",
        Flags {
            plain: "cdfikmostuvz cached debug deleted directory eol error-unmatch exclude-standard full-name ignored killed modified others recurse-submodules stage unmerged",
            valued: "--abbrev= --exclude",
            numbered: "",
        },
    ),
    (
        "ls-remote",
        Flags {
            plain: "hqt exit-code get-url heads quiet refs symref tags",
            valued: "",
            numbered: "",
        },
    ),
    (
        "blame",
        Flags {
            plain: "CMeflnpstw incremental line-porcelain porcelain root score-debug show-email show-name show-number show-stats",
            valued: "--abbrev= --date --ignore-rev -L",
            numbered: "",
        },
    ),
    ("cat-file", Flags { plain: "epst batch-check", valued: "", numbered: "" }),
    (
        "describe",
        Flags {
            plain: " always broken contains dirty exact-match long tags",
            valued: "--abbrev= --candidates --exclude --match",
            numbered: "",
        },
    ),
    (
        "shortlog",
        Flags {
            plain: "cens all committer email no-merges numbered summary",
            valued: "--author --group --since --until",
            numbered: "",
        },
    ),
    ("reflog", Flags { plain: " all oneline", valued: "--date -n#", numbered: "0" }),
    (
        "grep",
        Flags {
            plain: "EFHLPchilnoqvw and break cached color count extended-regexp files-with-matches files-without-match fixed-strings heading ignore-case invert-match line-number no-color not or perl-regexp untracked word-regexp",
            valued: "--after-context# --context# --max-depth# --threads# -A# -B# -C# -e",
            numbered: "",
        },
    ),
    ("for-each-ref", Flags { plain: " %", valued: "--contains --count# --sort", numbered: "" }),
    (
        "merge-base",
        Flags { plain: " all fork-point is-ancestor octopus", valued: "", numbered: "" },
    ),
    ("stash list", Flags { plain: " oneline", valued: "", numbered: "0" }),
    ("stash show", Flags { plain: "p name-only stat", valued: "", numbered: "" }),
    ("worktree list", Flags { plain: "v porcelain", valued: "", numbered: "" }),
    ("config --get", Flags { plain: "", valued: "", numbered: "" }),
];

/// `-x` and `-X` start programs.
const FD: Flags = Flags {
    plain: "01HILagipqs absolute-path case-sensitive fixed-strings follow full-path glob hidden ignore-case no-ignore print0 show-errors version",
    valued: "--changed-within --color --exclude --extension --max-depth# --owner --size --threads# --type -E -S -d# -e -j# -t",
    numbered: "",
};

/// Other commands.
pub(crate) const OTHERS: &[(&str, Flags)] = &[
    (
        "base64",
        Flags {
            plain: "Ddi decode help ignore-garbage version",
            valued: "--wrap# -w#",
            numbered: "",
        },
    ),
    (
        "date",
        Flags {
            plain: "IRu debug rfc-email universal utc version",
            valued: "--date --iso-8601= --reference --rfc-3339 -d -r",
            numbered: "",
        },
    ),
    (
        "file",
        Flags {
            plain: "0Lbhiklnprsv brief dereference keep-going list mime mime-encoding mime-type no-buffer no-dereference print0 raw special-files version",
            valued: "--exclude --separator -F",
            numbered: "",
        },
    ),
    (
        "hostname",
        Flags {
            plain: "AIVadfis alias all-fqdns all-ip-addresses domain fqdn ip-address long short",
            valued: "",
            numbered: "",
        },
    ),
    (
        "jq",
        Flags {
            plain: "CMRSacehjnrs ascii-output color-output compact-output exit-status help join-output monochrome-output null-input raw-input raw-output seq slurp sort-keys stream tab unbuffered version",
            valued: "--arg --indent#",
            numbered: "",
        },
    ),
    ("lsof", Flags { plain: "FPainot", valued: "-p -u", numbered: "" }),
    ("man", Flags { plain: "afkw all apropos", valued: "-s", numbered: "" }),
    ("netstat", Flags { plain: "agilnrs", valued: "", numbered: "" }),
    (
        "pgrep",
        Flags {
            plain: "acfilnovx count exact full list-full list-name newest oldest",
            valued: "--delimiter --parent --uid -G -P -g -s -u",
            numbered: "",
        },
    ),
    ("ps", Flags { plain: "ALTaefjlw forest no-headers", valued: "--pid -C -p -u", numbered: "" }),
    (
        "rg",
        Flags {
            plain: "HSTcgilnoqtuw color debug files-with-matches fixed-strings follow hidden invert-match json no-heading no-ignore only-matching smart-case stats text type-list version",
            valued: "--type --glob --type-not --max-count# --max-depth# --after-context# --before-context# --context# --regexp -A# -B# -C# -d# -e -m#",
            numbered: "ABC",
        },
    ),
    (
        "sort",
        Flags {
            plain: "CMRVbcdfghimnrsuz check dictionary-order general-numeric-sort help human-numeric-sort ignore-case ignore-leading-blanks ignore-nonprinting merge month-sort numeric-sort random-sort reverse stable unique version version-sort zero-terminated",
            valued: "--batch-size --buffer-size --field-separator --key --parallel --sort -S -k -t",
            numbered: "",
        },
    ),
    (
        "ss",
        Flags {
            plain: "aeilmnopstux all listening numeric processes tcp udp",
            valued: "",
            numbered: "",
        },
    ),
    ("tput", Flags { plain: "Vx", valued: "-T", numbered: "" }),
    (
        "tree",
        Flags {
            plain: "CDFJXadfghlnpsu dirsfirst du gitignore inodes noreport prune",
            valued: "--charset --filelimit --sort --timefmt -H -I -L -P",
            numbered: "",
        },
    ),
    ("uniq", Flags { plain: "Dcdiuz count group", valued: "--skip-fields -f -s -w", numbered: "" }),
    (
        "docker ps",
        Flags {
            plain: "alnqs all latest no-trunc quiet size",
            valued: "--filter --format --last -f",
            numbered: "n",
        },
    ),
    ("docker logs", Flags { plain: "", valued: "--tail#", numbered: "" }),
    ("docker inspect", Flags { plain: "", valued: "", numbered: "" }),
    ("fd", FD),
    ("fdfind", FD),
    (
        "docker images",
        Flags {
            plain: "aq all digests no-trunc quiet tree",
            valued: "--filter --format -f",
            numbered: "",
        },
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted<'a>(command: &str, words: &'a str) -> Option<Vec<&'a str>> {
        let (_, flags) = GIT.iter().chain(OTHERS).find(|(name, _)| *name == command).unwrap();
        let words: Vec<&str> = words.split(' ').collect();
        flags.sort(&words).map(|sorted| sorted.operands)
    }

    #[test]
    fn flags_are_known_in_their_usual_spelling_only() {
        assert_eq!(sorted("log", "--oneline -5 -n 3 HEAD --since=x -- a"), Some(vec!["HEAD", "a"]));
        assert_eq!(sorted("log", "--format=%H --pretty oneline"), Some(vec![]));
        assert_eq!(sorted("sort", "-rn -k 2,2n -t , a.txt"), Some(vec!["a.txt"]));
        assert_eq!(sorted("rg", "-A3 -t rust x"), Some(vec!["rust", "x"]));
        for (command, words) in [
            ("log", "-n3"),
            ("log", "--output=x"),
            ("log", "--stat=3"),
            ("log", "--format=mine"),
            ("log", "-n"),
            ("sort", "-k2"),
            ("sort", "-no x"),
            ("rg", "--pre=x"),
            ("status", "--format=%H"),
        ] {
            assert_eq!(sorted(command, words), None, "{command} {words}");
        }
    }
}
