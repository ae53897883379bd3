//! Rules that sessions of other people showed: for each a small log, and what clients of
//! four generations sent for it (`fixtures/outside`).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

use recto_log::Lines;
use recto_log::decode;
use recto_session::Session;
use recto_session::request::Generation;
use recto_session::request::RequestOptions;
use recto_session::request::reach;
use recto_session::request::read_by;
use recto_session::request::request;
use recto_testkit::difference;
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/outside")
}

/// Rebuilds what each client sent for the log of a rule.
fn check(rule: &str) {
    let file = rule.replace('_', "-");
    let log = fs::read(folder().join(format!("{file}.jsonl"))).unwrap();
    let sent = fs::read(folder().join(format!("{file}.json"))).unwrap();
    let sent: BTreeMap<String, Value> = serde_json::from_slice(&sent).unwrap();
    assert!(sent.contains_key("2.1.325"), "{rule}: the newest client is not recorded");
    for (version, sent) in sent {
        let generation = Generation::of_version(&version).unwrap();
        let mut session = Session::new();
        session.read_as(generation);
        for line in Lines::new(&log) {
            session.push(&read_by(decode(line).0, generation));
        }
        let options = RequestOptions { prompt: Some("NEXT".into()), ..RequestOptions::default() };
        let request = request(&session, &reach(&session, generation), &log, &options);
        let rebuilt = serde_json::from_slice(&request.messages).unwrap_or(Value::Null);
        if let Some(difference) = difference(&sent, &rebuilt) {
            panic!("{rule}, {version}: {difference}");
        }
    }
}

macro_rules! rules {
    ($($name:ident,)*) => {
        $(
            #[test]
            fn $name() {
                check(stringify!($name));
            }
        )*

        #[test]
        fn every_recorded_rule_has_a_test() {
            let named = [$(stringify!($name)),*];
            for file in fs::read_dir(folder()).unwrap() {
                let path = file.unwrap().path();
                // Whole sessions, for those who edit them.
                if path.is_dir() {
                    continue;
                }
                let stem = path.file_stem().unwrap().to_str().unwrap().replace('-', "_");
                assert!(named.contains(&stem.as_str()), "{stem} has no test");
            }
        }
    };
}

rules! {
    a_last_line_without_a_uuid_is_the_leaf,
    of_lines_without_a_uuid_the_last_one_counts,
    an_answer_without_blocks_has_no_content,
    a_result_of_a_failed_search_says_that_a_tool_was_loaded,
    a_prompt_below_progress_without_a_parent_begins_anew,
    progress_is_looked_through,
    an_orphan_is_not_hung_on_progress,
    a_line_of_the_client_that_hangs_on_nothing_is_not_the_leaf,
    an_attachment_that_hangs_on_nothing_is_not_the_leaf,
    a_line_without_blocks_is_not_the_leaf,
    signed_thinking_of_another_model_is_not_sent,
    unsigned_thinking_of_another_model_is_sent,
    signed_thinking_is_not_sent_to_a_model_that_stands_for_an_unknown_one,
    calls_and_results_are_in_the_order_of_the_file,
    calls_follow_what_is_said_after_them,
    calls_stay_before_thinking_that_follows_them,
    a_call_at_the_endpoint_without_a_result_is_not_sent,
    a_command_after_its_caveat_is_not_answered,
    a_call_at_the_endpoint_with_a_result_is_sent,
    an_answer_of_calls_at_the_endpoint_says_interrupted,
    a_result_inside_an_answer_is_not_sent,
    a_loaded_tool_is_announced,
    a_tool_that_is_gone_is_not_named,
    a_reminder_does_not_go_into_a_result_that_names_a_tool,
    an_empty_text_between_thinking_is_named,
    a_blank_text_is_not_sent,
    thinking_around_nothing_but_a_blank_text_is_not_sent,
    a_result_and_a_blank_text_in_an_answer_say_interrupted,
    the_answer_goes_before_commands_of_the_client,
    an_object_is_read_whatever_follows_it_on_the_line,
    older_names_of_a_message_to_a_teammate_are_not_sent,
    the_caller_of_a_tool_is_sent_by_the_newest_only,
    memory_of_a_folder_is_sent_with_the_result,
    a_new_date_is_told,
    a_list_of_things_to_do_is_reminded_of,
    servers_come_and_go,
    tools_come_and_go,
    the_editor_is_told_of,
    white_space_behind_thinking_is_not_sent,
    pictures_of_a_failed_call_are_not_sent,
    a_line_above_itself_is_hung_on_the_line_before,
    a_line_of_a_subagent_that_is_named_is_not_the_leaf,
    a_note_behind_a_result_that_is_removed_goes_with_it,
    a_note_before_a_result_stays_outside,
    a_note_goes_into_the_result_before_it,
    calls_stay_between_thinking_that_is_redacted,
    calls_follow_thinking_that_no_thinking_precedes,
    thinking_that_is_found_follows_the_line_that_is_met_first,
    the_line_that_is_met_first_stays_before_those_found,
    a_line_of_white_space_is_not_sent,
    a_blank_string_is_no_answer,
    white_space_in_an_answer_is_sent,
    a_blank_string_of_the_user_is_sent,
    a_blank_string_beside_a_text_of_the_user_is_not_sent,
    blank_texts_of_the_user_are_not_sent,
    an_answer_of_repeated_calls_says_interrupted,
    an_answer_does_not_go_on_behind_a_note_of_the_user,
    an_answer_goes_on_behind_an_attachment,
    an_answer_goes_on_behind_another,
    open_calls_of_a_turn_that_was_finished_go,
    open_calls_of_a_turn_that_was_cut_off_after_a_result_stay,
    what_a_failed_command_says_after_its_caveat_is_not_answered,
    what_a_command_says_without_its_caveat_is_answered,
}
