//! Names of files that hold keys, passwords and tokens, and are never opened.

use std::path::Path;

/// Names as they are.
const NAMES: &[&str] = &[
    ".boto",
    ".claude.json",
    ".dockercfg",
    ".dockerconfigjson",
    ".git-credentials",
    ".htpasswd",
    ".my.cnf",
    ".mylogin.cnf",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    ".s3cfg",
    ".terraformrc",
    ".vault-token",
    ".yarnrc.yml",
    "_netrc",
    "auth.json",
    "gshadow",
    "identity",
    "kubeconfig",
    "pgpass.conf",
    "secring.gpg",
    "shadow",
    "token",
    "token.json",
    "tokens.json",
    "wallet.dat",
];

/// How names begin.
const BEGINNINGS: &[&str] = &[
    ".env",
    "client_secret",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_rsa",
    "id_xmss",
    "secret.",
    "secrets.",
    "service-account",
    "service_account",
    "ssh_host_",
];

/// How names end.
const ENDINGS: &[&str] = &[
    ".env",
    ".gpg",
    ".jks",
    ".kdbx",
    ".key",
    ".keystore",
    ".ovpn",
    ".p12",
    ".p8",
    ".pem",
    ".pfx",
    ".pgp",
    ".pkcs12",
    ".pkcs8",
    ".ppk",
    ".secret",
    ".token",
    "_key",
    "-key",
];

/// What editors and people append to the name of a copy.
const COPIES: &[&str] = &["~", ".bak", ".old", ".orig", ".save", ".swp", ".tmp"];

/// Whether a file can hold a secret, by its name.
pub fn can_be_secret(path: &Path) -> bool {
    let Some(name) = path.file_name() else { return false };
    let name = name.to_string_lossy().to_ascii_lowercase();
    let mut name = name.as_str();
    // An editor's copy is `.name.swp`.
    if let Some(original) = name.strip_suffix(".swp") {
        name = original.strip_prefix('.').unwrap_or(original);
    }
    while let Some(original) = COPIES.iter().find_map(|copy| name.strip_suffix(copy)) {
        name = original;
    }
    // Public halves of keys are for everybody.
    if name.ends_with(".pub") {
        return false;
    }
    name.contains("credential")
        || NAMES.contains(&name)
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_names_of_keys_and_credentials_are_known() {
        for name in [
            ".credentials.json",
            "credentials",
            "aws-credentials.csv",
            ".git-credentials",
            "application_default_credentials.json",
            "1234.ab.key",
            "X.PEM",
            "server.pem.bak",
            ".claude.json",
            ".env",
            ".env.local",
            "prod.env",
            "id_rsa",
            "id_ed25519",
            "ID_ECDSA_sk",
            "id_rsa.old",
            "id_ed25519~",
            ".id_rsa.swp",
            "ssh_host_rsa_key",
            "deploy_key",
            ".netrc",
            "_netrc",
            ".npmrc",
            ".pypirc",
            ".pgpass",
            "keys.kdbx",
            "AuthKey.p8",
            "tls.pfx",
            "token.json",
            "secrets.yaml",
            "client_secret_42.json",
            "service-account.json",
            ".vault-token",
            "home.ovpn",
        ] {
            assert!(can_be_secret(&Path::new("/x").join(name)), "{name}");
        }
    }

    #[test]
    fn names_that_a_client_gives_are_none_of_them() {
        for name in [
            "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.jsonl",
            "agent-a1b2c3d4e5f60718.meta.json",
            "toolu_01AbCdEf.txt",
            "custom-title.json",
            "MEMORY.md",
            "token-refresh.md",
            "fix-the-keyboard.md",
            "history.jsonl",
            "settings.json",
            "abc123@v1",
            "1234.json",
            "id_rsa.pub",
            "environment.md",
            "000001.json",
        ] {
            assert!(!can_be_secret(Path::new(name)), "{name}");
        }
    }
}
