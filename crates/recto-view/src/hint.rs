//! What a person can do about an error, in words of the command line.

use std::io;

use recto_session::edit::EditError as PlanError;
use recto_store::EditError;
use recto_store::PlaceError;
use recto_store::StoreError;
use recto_store::follow::FollowError;
use recto_store::index::IndexError;
use recto_store::keep::KeepError;
use recto_store::pack::PackError;
use recto_store::publish::PublishError;

/// What a person can do about an error of the store.
pub fn hint(error: &StoreError) -> Option<&'static str> {
    match error {
        StoreError::Place(error) => hint_of_place(error),
        StoreError::Index(error) => Some(match error {
            IndexError::Damaged { .. } => "run `recto index rebuild`",
            IndexError::Locked { .. } => "wait until the other process is done",
            IndexError::Refused { .. } => {
                "free disk space and make the cache directory writable, or set RECTO_CACHE_DIR to another one"
            }
        }),
        StoreError::Publish(error) => hint_of_publishing(error),
        StoreError::Edit(error) => hint_of_edit(error),
        StoreError::Pack(PackError::SessionExists { .. }) => {
            Some("use --new-ids to unpack the sessions as copies with new ids")
        }
        StoreError::Keep(error) => hint_of_keeping(error),
        StoreError::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Some("check the permissions of the file")
        }
        StoreError::Pack(PackError::BadArchive { .. } | PackError::CannotPack { .. })
        | StoreError::Follow(FollowError::BadCheckpoint { .. })
        | StoreError::Io(_) => None,
    }
}

fn hint_of_keeping(error: &KeepError) -> Option<&'static str> {
    match error {
        KeepError::Newer { .. } => Some("update recto to read it"),
        KeepError::Busy { .. } => Some("try again when the other collector is done"),
        KeepError::NoArchive { .. } => Some("run `recto collect` to create one"),
        KeepError::Foreign { .. } => Some("use --to to name your own archive"),
        KeepError::Io { source, .. } => match source.kind() {
            io::ErrorKind::StorageFull
            | io::ErrorKind::QuotaExceeded
            | io::ErrorKind::FileTooLarge => {
                Some("free disk space, or use --to to name an archive on another disk")
            }
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                Some("make the archive writable, or use --to to name another one")
            }
            _ => None,
        },
        KeepError::Damaged { .. } => Some("`recto collect verify` lists all damage"),
        KeepError::State { .. } => Some(
            "free disk space and make the data directory writable, or set RECTO_DATA_DIR to another one",
        ),
        _ => None,
    }
}

fn hint_of_place(error: &PlaceError) -> Option<&'static str> {
    match error {
        PlaceError::NoHome { .. } => {
            Some("name it with --home DIR or CLAUDE_CONFIG_DIR; `recto demo` shows a sample")
        }
        PlaceError::HomeIsNoDirectory { .. } => {
            Some("name the directory that contains `projects/`")
        }
        PlaceError::HomeUnknown => Some("set HOME, or use --home DIR"),
        PlaceError::HomeInTest => Some("set CLAUDE_CONFIG_DIR to a directory of the test's own"),
        PlaceError::DataUnknown => {
            Some("set RECTO_DATA_DIR, XDG_DATA_HOME or HOME to an absolute path")
        }
        PlaceError::DataInTest => Some("set RECTO_DATA_DIR to a directory of the test's own"),
        PlaceError::CacheUnknown => {
            Some("set RECTO_CACHE_DIR, XDG_CACHE_HOME or HOME to an absolute path")
        }
        PlaceError::CacheInTest => Some("set RECTO_CACHE_DIR to a directory of the test's own"),
        PlaceError::LeadsOut { .. } => Some("name the file itself"),
        PlaceError::OnlyArchived { .. } => Some("`recto restore SESSION` brings it back"),
        PlaceError::Link { .. } => Some("delete the link, not what it names, and try again"),
        PlaceError::Secret { .. }
        | PlaceError::NotAFile { .. }
        | PlaceError::NotADirectory { .. }
        | PlaceError::TooLarge { .. } => None,
    }
}

fn hint_of_publishing(error: &PublishError) -> Option<&'static str> {
    match error {
        PublishError::Busy => Some("try again when it has finished"),
        PublishError::ChangedMeanwhile { .. } => {
            Some("nothing was changed; try again when nothing writes to it")
        }
        PublishError::InUse { .. } => {
            Some("nothing was changed; close the program that writes to it, and try again")
        }
        PublishError::ChangedSince { .. } => {
            Some("undo the later changes first, or use --force, which backs up the current version")
        }
        PublishError::NoOperation { .. }
        | PublishError::NothingToUndo
        | PublishError::NothingToRedo => Some("`recto log` lists the operations"),
        PublishError::OtherHome { .. } => Some("name it with --home"),
        PublishError::BadRecord { .. } => Some("move it away to continue without it"),
        PublishError::Interrupted { .. } => {
            Some("the next command that changes something tries again")
        }
        PublishError::Exists { .. }
        | PublishError::Outside { .. }
        | PublishError::NotText { .. }
        | PublishError::NoBackup { .. }
        | PublishError::BadBackup { .. } => None,
    }
}

fn hint_of_edit(error: &EditError) -> Option<&'static str> {
    match error {
        EditError::Plan(PlanError::SourceChanged { .. }) => {
            Some("wait until Claude Code is done with the session, and try again")
        }
        EditError::WouldLose { .. } => Some(
            "run `recto check` to see what is wrong with the session, `recto repair` to repair it",
        ),
        EditError::Archived { .. } => Some("`recto restore SESSION` brings it back"),
        EditError::BadSettings { .. } => Some("correct the file; nothing was changed"),
        EditError::PartsDiffer { .. } => Some("use --prefer first or --prefer second to choose"),
        EditError::Live { .. } => Some("close the session there first"),
        EditError::Elsewhere { .. } => Some(
            "close that session; if its process no longer exists, remove its file from `sessions` in the home",
        ),
        EditError::UnreadableClient { .. } => {
            Some("try again; if that fails and the process is not Claude Code, remove the file")
        }
        EditError::Recent { .. } => Some("wait a few seconds and try again"),
        EditError::Plan(_) | EditError::BadTitle | EditError::TitleNotReadBack => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_refused_because_of_a_client_is_told_what_helps() {
        let path = "sessions/7.json".into();
        let error = StoreError::from(EditError::UnreadableClient { pid: 7, path });
        assert_eq!(error.kind(), "live-session");
        assert!(hint(&error).unwrap().contains("remove the file"));
    }
}
