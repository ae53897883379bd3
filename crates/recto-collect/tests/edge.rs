//! A machine of a fleet: a home, its data, and a store.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

use recto_collect::CollectError;
use recto_collect::MachineFacts;
use recto_collect::Mirror;
use recto_collect::Policy;
use recto_collect::SendOptions;
use recto_collect::SendReport;
use recto_collect::Sender;
use recto_collect::Store;
use recto_collect::Wanted;
use recto_store::DataDirectory;
use recto_store::Home;
use recto_store::keep::Archive;
use recto_store::keep::Catalog;
use recto_store::keep::CollectOptions;
use recto_store::keep::Collector;
use recto_store::keep::MachineId;
use recto_store::keep::MachineSecret;
use recto_testkit::FakeS3;
use tempfile::TempDir;

/// The folder of the fleet in the store.
pub(crate) const FOLDER: &str = "fleet";

/// A machine.
pub(crate) struct Edge {
    folder: TempDir,
    pub(crate) store: FakeS3,
    /// What the policy file says.
    pub(crate) policy: String,
    /// Another store than the fake one.
    pub(crate) opened: Option<Store>,
}

impl Edge {
    pub(crate) fn new(store: &FakeS3) -> Edge {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("home/projects")).unwrap();
        Edge { folder, store: store.clone(), policy: String::new(), opened: None }
    }

    pub(crate) fn raw(store: &FakeS3) -> Edge {
        Edge { policy: "redact = \"off\"".to_owned(), ..Edge::new(store) }
    }

    pub(crate) fn home(&self) -> Home {
        Home::open(self.folder.path().join("home")).unwrap()
    }

    pub(crate) fn machine(&self) -> MachineId {
        MachineId::of(&self.home())
    }

    pub(crate) fn data(&self) -> DataDirectory {
        DataDirectory::new(self.folder.path().join("data"))
    }

    pub(crate) fn archive(&self) -> PathBuf {
        self.folder.path().join("data/archive")
    }

    /// Writes a file of the home.
    pub(crate) fn write(&self, below: &str, text: impl AsRef<[u8]>) {
        let path = self.folder.path().join("home").join(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Removes a file of the home.
    pub(crate) fn remove(&self, below: &str) {
        fs::remove_file(self.folder.path().join("home").join(below)).unwrap();
    }

    /// Looks at the home.
    pub(crate) fn collect(&self) {
        let options = CollectOptions::default();
        let mut collector =
            Collector::open(&self.home(), &self.data(), &self.archive(), options).unwrap();
        let report = collector.collect(&mut |_| {}).unwrap();
        assert_eq!(report.troubles, []);
    }

    pub(crate) fn sender(&self, options: SendOptions) -> Sender {
        let secret = MachineSecret::of(&self.home());
        let path = Path::new("collect.toml");
        let policy = Policy::read(&self.policy, path, &secret, None).unwrap();
        let facts = MachineFacts {
            user: Some("dev".to_owned()),
            host: Some("box".to_owned()),
            version: "1.2.3".to_owned(),
        };
        let (home, data) = (self.home(), self.data());
        Sender::open(&home, &data, &self.archive(), self.open(), policy, facts, options).unwrap()
    }

    pub(crate) fn open(&self) -> Store {
        if let Some(store) = &self.opened {
            return store.clone();
        }
        Store::open(&self.store.url(FOLDER), &FakeS3::variables()).unwrap()
    }

    pub(crate) fn try_send(&self) -> Result<SendReport, CollectError> {
        self.sender(SendOptions::default()).send(&mut |_, _| {})
    }

    /// Looks at the home and sends everything.
    pub(crate) fn send(&self) -> SendReport {
        self.collect();
        let report = self.try_send().unwrap();
        assert_eq!(report.troubles, []);
        report
    }

    /// Forgets what was sent where.
    pub(crate) fn lose_state(&self) {
        for name in ["stores.sqlite", "stores.sqlite-wal", "stores.sqlite-shm"] {
            let _ = fs::remove_file(self.folder.path().join("data/collect").join(name));
        }
    }

    /// Loses everything but the home.
    pub(crate) fn lose_data(&self) {
        fs::remove_dir_all(self.folder.path().join("data")).unwrap();
    }

    /// What the store gives back, by path.
    pub(crate) fn stored(&self) -> BTreeMap<String, String> {
        let mirror = Mirror::fetch(
            &self.open(),
            self.machine(),
            &Wanted::All,
            &self.folder.path().join("cache"),
            &mut |_, _| {},
        )
        .unwrap();
        given_back(&mirror.archive().unwrap())
    }

    /// The names of segments of lines in the store.
    pub(crate) fn segments(&self) -> Vec<String> {
        let prefix = format!("{FOLDER}/raw/v1/machine={}/", self.machine());
        let keys = self.store.keys(&prefix).into_iter();
        keys.filter(|key| key.ends_with(".jsonl.zst")).collect()
    }
}

/// Every file of an archive.
pub(crate) fn given_back(archive: &Archive) -> BTreeMap<String, String> {
    let catalog = Catalog::read(archive).unwrap();
    assert!(catalog.damaged.is_empty(), "{:?}", catalog.damaged);
    let mut files = BTreeMap::new();
    for file in &catalog.files {
        let mut bytes = Vec::new();
        let (_, missing) = file.write_to(archive, None, &mut bytes).unwrap();
        assert!(missing.problems.is_empty(), "{:?}", missing.problems);
        files.insert(file.path.clone(), String::from_utf8(bytes).unwrap());
    }
    files
}
