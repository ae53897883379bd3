//! Several machines in one store.

use recto_collect::Fleet;
use recto_collect::Forget;
use recto_collect::Mirror;
use recto_collect::Wanted;
use recto_testkit::FakeS3;

use crate::edge::Edge;
use crate::edge::given_back;

const ID: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";
const OTHER: &str = "5c1e8a70-2b64-4f19-9d0c-6a7be3f0c214";

fn edges(store: &FakeS3) -> [Edge; 2] {
    let edges = [Edge::raw(store), Edge::raw(store)];
    for (number, edge) in edges.iter().enumerate() {
        edge.write(&format!("projects/-w/{ID}.jsonl"), format!("{{\"machine\":{number}}}\n"));
        edge.write(
            &format!("projects/-w/{ID}/subagents/agent-a1.jsonl"),
            format!("{{\"agent\":{number}}}\n"),
        );
        edge.write(&format!("projects/-v/{OTHER}.jsonl"), "{\"x\":1}\n");
        edge.send();
    }
    edges
}

#[test]
fn machines_are_listed_with_what_they_have() {
    let store = FakeS3::start();
    let edges = edges(&store);
    let fleet = Fleet::new(edges[0].open());
    let machines = fleet.machines().unwrap();
    assert_eq!(machines.len(), 2);
    for machine in &machines {
        assert!(edges.iter().any(|edge| edge.machine() == machine.machine));
        assert_eq!((machine.files, machine.objects, machine.gaps), (3, 3, 0));
        let beat = machine.beat.as_ref().unwrap();
        assert_eq!(beat.user.as_deref(), Some("dev"));
        assert_eq!((beat.version.as_str(), beat.waiting_bytes), ("1.2.3", 0));
    }
    for read in [false, true] {
        let report = fleet.verify(None, read, &mut |_, _| {}).unwrap();
        assert!(report.is_sound(), "{report:?}");
        assert_eq!((report.files, report.objects), (6, 6));
    }
    edges[0].write(&format!("projects/-w/{ID}.jsonl"), "{\"machine\":0}\n{\"n\":1}\n");
    edges[0].send();
    let first = edges[0].segments().into_iter().find(|key| {
        key.contains("/00000000000000000000-") && {
            let folder = key.rsplit_once('/').unwrap().0;
            edges[0].segments().iter().filter(|other| other.starts_with(folder)).count() == 2
        }
    });
    store.remove(&first.unwrap());
    let report = fleet.verify(None, false, &mut |_, _| {}).unwrap();
    assert_eq!(report.problems.len(), 1, "{report:?}");
    assert!(report.problems[0].starts_with("bytes 0 to 14 of "));
    assert_eq!(fleet.machines().unwrap().iter().map(|machine| machine.gaps).sum::<u64>(), 1);
}

#[test]
fn one_session_is_fetched_without_the_others() {
    let store = FakeS3::start();
    let edges = edges(&store);
    let folder = tempfile::tempdir().unwrap();
    let fetch = |wanted: &Wanted| {
        let machine = edges[1].machine();
        let mirror =
            Mirror::fetch(&edges[0].open(), machine, wanted, folder.path(), &mut |_, _| {});
        given_back(&mirror.unwrap().archive().unwrap())
    };
    let session = fetch(&Wanted::Sessions(vec!["3f2a".to_owned()]));
    assert_eq!(session.len(), 2);
    assert_eq!(session[&format!("projects/-w/{ID}.jsonl")], "{\"machine\":1}\n");
    assert_eq!(fetch(&Wanted::Project("-v".to_owned())).len(), 1);
    assert_eq!(fetch(&Wanted::All).len(), 3);
    let nobody = "0000000000000000".parse().unwrap();
    let error =
        Mirror::fetch(&edges[0].open(), nobody, &Wanted::All, folder.path(), &mut |_, _| {});
    let error = error.unwrap_err();
    assert_eq!(error.kind(), "no-machine");
    assert!(error.hint().unwrap().contains(&edges[0].machine().to_string()));
}

#[test]
fn what_is_forgotten_is_gone_and_does_not_come_back() {
    let store = FakeS3::start();
    let edges = edges(&store);
    let fleet = Fleet::new(edges[0].open());
    let now = "2026-11-16T12:00:00Z".parse().unwrap();
    let session = Forget::Session(ID.parse().unwrap());
    let before = store.objects().len();
    let would = fleet.forget(&session, /* really */ false, "root", now).unwrap();
    assert_eq!((would.machines.len(), would.files, would.objects), (2, 4, 4));
    assert_eq!(store.objects().len(), before);
    let done = fleet.forget(&session, /* really */ true, "root", now).unwrap();
    assert_eq!((done.files, done.objects), (4, 4));
    let record = store.objects()[&format!("fleet/{}", done.record.unwrap())].clone();
    let record = String::from_utf8(record).unwrap();
    assert!(record.contains("\"by\":\"root\"") && record.contains(ID), "{record}");
    assert_eq!(edges[0].stored().len(), 1);
    // Whatever the machine forgets, and whatever is added.
    edges[0].write(&format!("projects/-w/{ID}.jsonl"), "{\"machine\":0}\n{\"n\":2}\n");
    edges[0].lose_data();
    edges[0].send();
    assert_eq!(edges[0].stored().len(), 1);
    let all = fleet.forget(&Forget::User("dev".to_owned()), true, "root", now).unwrap();
    assert_eq!(all.files, 2);
    assert_eq!(store.keys("fleet/raw").len(), 0);
    assert_eq!(fleet.machines().unwrap(), []);
}
