//! The list of things to do, as the model kept it.
//!
//! `TodoWrite` writes the whole list each time; the task tools make and change
//! one task by its number. [`TodoList`] takes in both and tells what changed, so
//! that a session that used one tool or the other reads the same.

use recto_log::json::Value;

use crate::fold::hash::IdMap;

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Todo {
    /// The task's number; `TodoWrite` has none.
    pub id: Option<String>,
    /// `pending`, `in_progress`, `completed`, or what the tool says.
    pub status: String,
    /// What is to be done.
    pub text: String,
}

/// One change of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TodoChange {
    /// The thing to do, after the change.
    pub todo: Todo,
    /// The status before; `None` for what is new.
    pub before: Option<String>,
    /// Whether it was taken off the list.
    pub is_removed: bool,
}

/// The list, after some calls.
#[derive(Debug, Clone, Default)]
pub struct TodoList {
    todos: Vec<Todo>,
    /// Where the task of each number stands.
    places: IdMap<String, usize>,
}

/// The tools that keep the list.
pub const TODO_TOOLS: [&str; 4] = ["TodoWrite", "TaskCreate", "TaskUpdate", "TaskList"];

impl TodoList {
    /// The list as it is now.
    pub fn todos(&self) -> &[Todo] {
        &self.todos
    }

    /// Takes in a call that did not fail: its input, and what the client kept of
    /// the result. Gives what changed.
    pub fn take(
        &mut self,
        tool: &str,
        input: Option<Value<'_>>,
        result: Option<Value<'_>>,
    ) -> Vec<TodoChange> {
        let of_input = |name: &str| input.and_then(|input| input.get(name));
        let of_result = |name: &str| result.and_then(|result| result.get(name));
        match tool {
            "TodoWrite" => match of_result("newTodos").or_else(|| of_input("todos")) {
                Some(list) => self.replace(list.elements().filter_map(written).collect()),
                None => Vec::new(),
            },
            "TaskCreate" => {
                let id = of_result("task").and_then(|task| id_of(task, "id"));
                let text = of_result("task").and_then(|task| text(task, "subject"));
                let text = text.or_else(|| input.and_then(text_of_task));
                let Some(text) = text else { return Vec::new() };
                self.set(Todo { id, status: "pending".into(), text })
            }
            "TaskUpdate" => {
                let id = result.and_then(|result| id_of(result, "taskId"));
                let Some(id) = id.or_else(|| input.and_then(|input| id_of(input, "taskId"))) else {
                    return Vec::new();
                };
                // The client says by itself whether there is such a task.
                if of_result("success").is_some_and(|success| success.bytes() == b"false") {
                    return Vec::new();
                }
                let status = of_result("statusChange").and_then(|change| text(change, "to"));
                let status = status.or_else(|| input.and_then(|input| text(input, "status")));
                self.update(id, status, input.and_then(text_of_task))
            }
            // All tasks, as the client knows them: heals what the log lacks.
            "TaskList" => match of_result("tasks") {
                Some(list) => {
                    let known = list.elements().filter_map(|task| {
                        let status = text(task, "status").unwrap_or_else(|| "pending".into());
                        Some(Todo { id: id_of(task, "id"), status, text: text(task, "subject")? })
                    });
                    let known: Vec<Todo> = known.collect();
                    known.into_iter().flat_map(|todo| self.set(todo)).collect()
                }
                None => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    /// Puts a new list in place of what `TodoWrite` wrote before.
    fn replace(&mut self, new: Vec<Todo>) -> Vec<TodoChange> {
        let (tasks, old): (Vec<Todo>, Vec<Todo>) =
            std::mem::take(&mut self.todos).into_iter().partition(|todo| todo.id.is_some());
        // Where each text stood; of equal ones the first is taken first.
        let mut places: IdMap<String, Vec<usize>> = IdMap::default();
        for (at, todo) in old.iter().enumerate().rev() {
            places.entry(todo.text.clone()).or_default().push(at);
        }
        let mut old: Vec<Option<Todo>> = old.into_iter().map(Some).collect();
        let mut changes = Vec::new();
        for todo in &new {
            let before = places.get_mut(&todo.text).and_then(Vec::pop);
            let before = before.and_then(|at| old[at].take());
            if before.as_ref() != Some(todo) {
                let before = before.map(|before| before.status);
                changes.push(TodoChange { todo: todo.clone(), before, is_removed: false });
            }
        }
        let gone = old.into_iter().flatten().map(|todo| TodoChange {
            before: Some(todo.status.clone()),
            todo,
            is_removed: true,
        });
        changes.extend(gone);
        self.todos = tasks.into_iter().chain(new).collect();
        self.find_places();
        changes
    }

    /// Puts one task on the list, or in place of the one with its number.
    fn set(&mut self, todo: Todo) -> Vec<TodoChange> {
        let place = todo.id.as_ref().and_then(|id| self.places.get(id).copied());
        let known = place.and_then(|at| self.todos.get_mut(at));
        let before = match known {
            Some(known) if *known == todo => return Vec::new(),
            Some(known) => Some(std::mem::replace(known, todo.clone()).status),
            None => {
                if let Some(id) = &todo.id {
                    self.places.insert(id.clone(), self.todos.len());
                }
                self.todos.push(todo.clone());
                None
            }
        };
        vec![TodoChange { todo, before, is_removed: false }]
    }

    /// Finds out anew where the task of each number stands.
    fn find_places(&mut self) {
        let ids = self.todos.iter().enumerate();
        let ids = ids.rev().filter_map(|(at, todo)| Some((todo.id.clone()?, at)));
        self.places = ids.collect();
    }

    fn update(
        &mut self,
        id: String,
        status: Option<String>,
        text: Option<String>,
    ) -> Vec<TodoChange> {
        let at = self.places.get(&id).copied();
        let known = at.map(|at| self.todos[at].clone());
        if status.as_deref() == Some("deleted") {
            let Some(at) = at else { return Vec::new() };
            let todo = self.todos.remove(at);
            self.find_places();
            let before = Some(todo.status.clone());
            return vec![TodoChange { todo, before, is_removed: true }];
        }
        // A task that was made in another log is known by its number only.
        let known =
            known.unwrap_or(Todo { id: None, status: "pending".into(), text: String::new() });
        self.set(Todo {
            id: Some(id),
            status: status.unwrap_or(known.status),
            text: text.unwrap_or(known.text),
        })
    }
}

fn text(value: Value<'_>, name: &str) -> Option<String> {
    value.str(name).map(|text| text.into_owned())
}

fn text_of_task(input: Value<'_>) -> Option<String> {
    text(input, "subject")
}

/// The number of a task, which is a string or a number.
fn id_of(value: Value<'_>, name: &str) -> Option<String> {
    let number = || value.get(name).and_then(Value::as_u64).map(|number| number.to_string());
    text(value, name).or_else(number)
}

fn written(todo: Value<'_>) -> Option<Todo> {
    let status = text(todo, "status").unwrap_or_else(|| "pending".into());
    Some(Todo { id: None, status, text: text(todo, "content")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(list: &mut TodoList, tool: &str, input: &str, result: &str) -> Vec<String> {
        let input = Value::parse(input.as_bytes()).ok();
        let result = Value::parse(result.as_bytes()).ok();
        let shown = |change: TodoChange| {
            let Todo { id, status, text } = change.todo;
            let id = id.map(|id| format!("#{id} ")).unwrap_or_default();
            let before = change.before.unwrap_or_else(|| "new".into());
            let after = if change.is_removed { "removed".into() } else { status };
            format!("{id}{text}: {before} to {after}")
        };
        list.take(tool, input, result).into_iter().map(shown).collect()
    }

    #[test]
    fn a_list_that_is_written_anew_tells_what_changed() {
        let mut list = TodoList::default();
        let one = r#"{"todos":[{"content":"a","status":"in_progress"},{"content":"b","status":"pending"}]}"#;
        assert_eq!(
            take(&mut list, "TodoWrite", one, ""),
            ["a: new to in_progress", "b: new to pending"]
        );
        assert_eq!(take(&mut list, "TodoWrite", one, ""), [""; 0]);
        let two = r#"{"newTodos":[{"content":"a","status":"completed"},{"content":"c","status":"pending"}]}"#;
        assert_eq!(
            take(&mut list, "TodoWrite", one, two),
            ["a: in_progress to completed", "c: new to pending", "b: pending to removed"]
        );
        assert_eq!(list.todos().len(), 2);
    }

    #[test]
    fn tasks_are_made_and_changed_by_number() {
        let mut list = TodoList::default();
        let made = r#"{"task":{"id":"1","subject":"a"}}"#;
        assert_eq!(take(&mut list, "TaskCreate", "{}", made), ["#1 a: new to pending"]);
        let input = r#"{"taskId":"1","status":"in_progress"}"#;
        let result =
            r#"{"success":true,"taskId":"1","statusChange":{"from":"pending","to":"in_progress"}}"#;
        assert_eq!(take(&mut list, "TaskUpdate", input, result), ["#1 a: pending to in_progress"]);
        assert_eq!(
            take(&mut list, "TaskUpdate", input, r#"{"success":false,"taskId":"1"}"#),
            [""; 0]
        );
        let all = r#"{"tasks":[{"id":"1","subject":"a","status":"in_progress"},{"id":"2","subject":"b","status":"pending"}]}"#;
        assert_eq!(take(&mut list, "TaskList", "{}", all), ["#2 b: new to pending"]);
        let input = r#"{"taskId":"1","status":"deleted"}"#;
        assert_eq!(take(&mut list, "TaskUpdate", input, ""), ["#1 a: in_progress to removed"]);
        assert_eq!(
            take(&mut list, "TaskUpdate", r#"{"taskId":9,"subject":"z"}"#, ""),
            ["#9 z: new to pending"]
        );
        assert_eq!(take(&mut list, "Other", "{}", "{}"), [""; 0]);
    }
}
