//! How large the import cycles of each crate are, and that none is between the rooms of
//! the store.
//!
//! A unit is a module of a room (`read::digest`, with all below it) or, where a crate has no
//! rooms, a module of the crate. A path leads to where the item is: re-exports at the root of a
//! crate and of a room are followed.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use regex::Regex;

use crate::structure::sources;

/// How many units the largest cycle of a crate may have.
const LARGEST: [(&str, usize); 6] = [
    ("recto-log", 5),
    ("recto-session", 4),
    ("recto-store", 3),
    ("recto-view", 7),
    ("recto-serve", 3),
    ("recto", 8),
];

/// A module, as the names from the root of its crate.
type Module = Vec<String>;

/// The modules of a crate with their code, and where re-exported names lead.
struct Modules {
    code: BTreeMap<Module, String>,
    exports: BTreeMap<Module, Module>,
}

impl Modules {
    fn read(name: &str) -> Modules {
        let folder = format!("crates/{name}/src/");
        let code = sources(&folder).into_iter().map(|source| {
            let path = source.path.strip_prefix(&folder).unwrap().strip_suffix(".rs").unwrap();
            let mut module: Module = path.split('/').map(str::to_owned).collect();
            if ["mod", "lib", "main"].contains(&module[module.len() - 1].as_str()) {
                module.pop();
            }
            (module, without_comments(&source.code))
        });
        let mut modules = Modules { code: code.collect(), exports: BTreeMap::new() };
        let export = Regex::new(r"pub(?:\([a-z]+\))? use ([\w:]+?)(?: as (\w+))?;").unwrap();
        for (module, code) in &modules.code {
            for found in export.captures_iter(code) {
                let path = modules.absolute(module, &found[1]);
                let name =
                    found.get(2).map_or_else(|| path[path.len() - 1].as_str(), |n| n.as_str());
                let mut name_here = module.clone();
                name_here.push(name.to_owned());
                modules.exports.insert(name_here, path.clone());
            }
        }
        modules
    }

    /// A path that begins with `crate`, `super`, `self`, or a module of this one.
    fn absolute(&self, module: &Module, path: &str) -> Module {
        let mut absolute = module.clone();
        for part in path.split("::") {
            match part {
                "crate" => absolute.clear(),
                "super" => {
                    absolute.pop();
                }
                "self" => {}
                name => absolute.push(name.to_owned()),
            }
        }
        absolute
    }

    /// The module that an item is in, through re-exports. None if it is not of this crate.
    fn module_of(&self, path: &Module) -> Option<Module> {
        let mut path = path.clone();
        // A chain of re-exports is short.
        for _ in 0..8 {
            let known = (1..=path.len()).rev().find(|end| self.code.contains_key(&path[..*end]));
            let end = known.unwrap_or(0);
            let exported = path.get(..end + 1).and_then(|name| self.exports.get(name));
            match exported {
                Some(exported) => {
                    path = [exported.as_slice(), &path[end + 1..]].concat();
                }
                None => return (end > 0).then(|| path[..end].to_vec()),
            }
        }
        None
    }

    /// Which units use which, by what `unit` says of a module.
    fn uses(&self, unit: impl Fn(&Module) -> Module) -> BTreeMap<Module, BTreeSet<Module>> {
        let export = Regex::new(r"pub(?:\([a-z]+\))? use [^;]+;").unwrap();
        let path = Regex::new(r"\b(?:crate|super)(?:::\w+)+").unwrap();
        let mut uses: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
        for (module, code) in self.code.iter().filter(|(module, _)| !module.is_empty()) {
            let from = unit(module);
            for found in path.find_iter(&export.replace_all(code, "")) {
                let to = self.module_of(&self.absolute(module, found.as_str()));
                let Some(to) = to.map(|to| unit(&to)) else { continue };
                // What is inside of the other is no import from elsewhere.
                if !from.starts_with(&to) && !to.starts_with(&from) {
                    uses.entry(from.clone()).or_default().insert(to);
                }
            }
        }
        uses
    }
}

fn without_comments(code: &str) -> String {
    code.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n")
}

/// All that can be reached from each unit. Crates are small enough for that.
fn reached(uses: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeMap<&Module, BTreeSet<&Module>> {
    let from_one = |start| {
        let mut found = BTreeSet::new();
        let mut waiting = vec![start];
        while let Some(unit) = waiting.pop() {
            for next in uses.get(unit).into_iter().flatten() {
                if found.insert(next) {
                    waiting.push(next);
                }
            }
        }
        found
    };
    uses.keys().map(|start| (start, from_one(start))).collect()
}

/// The cycles: sets of units of which each leads to each.
fn cycles(uses: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<Vec<String>> {
    let reached = reached(uses);
    let mut found = BTreeSet::new();
    for (one, others) in &reached {
        let is_mutual =
            |other: &&&Module| reached.get(**other).is_some_and(|all| all.contains(one));
        let cycle: Vec<String> =
            others.iter().filter(is_mutual).map(|other| other.join("::")).collect();
        if !cycle.is_empty() {
            found.insert(cycle);
        }
    }
    found
}

#[test]
fn import_cycles_are_small() {
    for (name, most) in LARGEST {
        let modules = Modules::read(name);
        let uses = modules.uses(|module| module[..module.len().min(2)].to_vec());
        let cycles = cycles(&uses);
        let largest = cycles.iter().map(Vec::len).max().unwrap_or(0);
        assert!(largest <= most, "{name}: a cycle of {largest}, more than {most}: {cycles:#?}");
    }
}

#[test]
fn rooms_of_the_store_import_each_other_one_way() {
    let modules = Modules::read("recto-store");
    let error = vec!["error".to_owned()];
    let room = |module: &Module| match module.last().map(String::as_str) {
        Some("error") => error.clone(),
        _ => module[..1].to_vec(),
    };
    let mut uses = modules.uses(room);
    assert!(uses.len() >= 8, "{uses:?}");
    // The errors of all rooms are wrapped by that of the crate, which all rooms give.
    uses.remove(&error);
    assert_eq!(cycles(&uses), BTreeSet::new());
}

#[test]
fn a_cycle_is_seen_through_re_exports() {
    let module = |path: &str| -> Module {
        path.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let code = [
        ("", ""),
        ("room", ""),
        ("room::a", "use crate::Thing;"),
        ("room::b", "use super::c;\nfn f() -> crate::room::Other {}"),
        ("room::c", ""),
        ("other", "use crate::room::b::Thing;"),
    ];
    let exports = [("Thing", "room::b::Thing"), ("room::Other", "room::a::Other")];
    let modules = Modules {
        code: code.into_iter().map(|(path, code)| (module(path), code.to_owned())).collect(),
        exports: exports.into_iter().map(|(name, path)| (module(name), module(path))).collect(),
    };
    let found = cycles(&modules.uses(Module::clone));
    assert_eq!(found, BTreeSet::from([vec!["room::a".to_owned(), "room::b".to_owned()]]));
}
