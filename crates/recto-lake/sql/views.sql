-- view: messages
-- about: One row for each API message, counted once with its final usage, as `recto usage` counts.
-- column: message_key | The message.
-- column: message_id | Its id at the API.
-- column: machine | The machine of the log that has it first.
-- column: user_id | Who uses that machine.
-- column: project | The folder name of the project.
-- column: session_id | The session.
-- column: file_id | The log file.
-- column: agent_id | The subagent.
-- column: is_sidechain | Whether it is part of a subagent's conversation.
-- column: ts_ms | Its time in milliseconds since 1970.
-- column: day | The UTC day.
-- column: week | The Monday of that week.
-- column: month | The first day of that month.
-- column: model | The model.
-- column: stop_reason | The stop reason.
-- column: input_tokens | Input tokens, without those of the cache.
-- column: output_tokens | Output tokens.
-- column: cache_read_tokens | Tokens read from the cache.
-- column: cache_write_tokens | Tokens written to the cache.
-- column: cache_write_5m | Of these, for five minutes.
-- column: cache_write_1h | Of these, for an hour.
-- column: web_searches | Web searches of the server.
-- column: cost_micros | The cost in micro-dollars; none without a price.
WITH best AS (
  SELECT message_key, message_id, machine, user_id, project, session_id, file_id, gen, off, agent_id,
    is_sidechain, is_told, is_copied, has_stop, ts_ms, day, week, month, model, stop_reason,
    input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cache_write_5m,
    cache_write_1h, web_searches, cost_micros,
    ROW_NUMBER() OVER (PARTITION BY message_key, machine, file_id, gen
      ORDER BY CASE WHEN has_stop THEN 0 ELSE 1 END, output_tokens DESC, off) AS line_rank
  FROM usage
),
finals AS (
  SELECT message_key, message_id, model, stop_reason, input_tokens, output_tokens,
    cache_read_tokens, cache_write_tokens, cache_write_5m, cache_write_1h, web_searches, cost_micros,
    ROW_NUMBER() OVER (PARTITION BY message_key
      ORDER BY CASE WHEN has_stop THEN 0 ELSE 1 END, output_tokens DESC, input_tokens DESC,
        cache_read_tokens DESC, cache_write_5m DESC, cache_write_1h DESC, cache_write_tokens DESC,
        web_searches DESC, machine, file_id, gen, off) AS copy_rank
  FROM best WHERE line_rank = 1
),
owners AS (
  SELECT message_key, machine, user_id, project, session_id, file_id, agent_id, is_sidechain, ts_ms,
    day, week, month,
    ROW_NUMBER() OVER (PARTITION BY message_key
      ORDER BY CASE WHEN is_told THEN 1 ELSE 0 END, CASE WHEN ts_ms IS NULL THEN 1 ELSE 0 END, ts_ms,
        CASE WHEN is_copied THEN 1 ELSE 0 END, machine, file_id, gen, off) AS owner_rank
  FROM usage
)
SELECT finals.message_key AS message_key, finals.message_id AS message_id, owners.machine AS machine,
  owners.user_id AS user_id, owners.project AS project, owners.session_id AS session_id,
  owners.file_id AS file_id, owners.agent_id AS agent_id, owners.is_sidechain AS is_sidechain,
  owners.ts_ms AS ts_ms, owners.day AS day, owners.week AS week, owners.month AS month,
  finals.model AS model, finals.stop_reason AS stop_reason, finals.input_tokens AS input_tokens,
  finals.output_tokens AS output_tokens, finals.cache_read_tokens AS cache_read_tokens,
  finals.cache_write_tokens AS cache_write_tokens, finals.cache_write_5m AS cache_write_5m,
  finals.cache_write_1h AS cache_write_1h, finals.web_searches AS web_searches,
  finals.cost_micros AS cost_micros
FROM finals JOIN owners ON finals.message_key = owners.message_key
WHERE finals.copy_rank = 1 AND owners.owner_rank = 1

-- view: tool_calls
-- about: One row for each tool call, with its result. Copies in forked sessions count once.
-- column: tool_use_id | The call.
-- column: tool_name | The tool.
-- column: call_state | `ok`, `failed` or `no_result`.
-- column: machine | The machine.
-- column: user_id | Who uses that machine.
-- column: project | The folder name of the project.
-- column: session_id | The session.
-- column: agent_id | The subagent.
-- column: is_sidechain | Whether a subagent called it.
-- column: model | The model that called it.
-- column: message_id | The API message.
-- column: ts_ms | When it was called, in milliseconds since 1970.
-- column: day | The UTC day.
-- column: week | The Monday of that week.
-- column: month | The first day of that month.
-- column: file_path | The file that the call names.
-- column: input_len | The length of the arguments in bytes.
-- column: result_len | The length of the result in bytes.
-- column: duration_ms | From the call to its result.
WITH calls AS (
  SELECT tool_use_id, tool_name, machine, user_id, project, session_id, agent_id, is_sidechain, model,
    message_id, ts_ms, day, week, month, file_path, text_len,
    ROW_NUMBER() OVER (PARTITION BY tool_use_id
      ORDER BY CASE WHEN ts_ms IS NULL THEN 1 ELSE 0 END, ts_ms, machine, file_id, gen, off, idx)
      AS call_rank
  FROM blocks WHERE kind IN ('tool_use', 'server_tool_use') AND tool_use_id IS NOT NULL
),
results AS (
  SELECT tool_use_id, is_error, ts_ms, text_len,
    ROW_NUMBER() OVER (PARTITION BY tool_use_id
      ORDER BY CASE WHEN ts_ms IS NULL THEN 1 ELSE 0 END, ts_ms, machine, file_id, gen, off, idx)
      AS result_rank
  FROM blocks WHERE kind IN ('tool_result', 'web_search_tool_result') AND tool_use_id IS NOT NULL
),
answers AS (
  SELECT tool_use_id, is_error, ts_ms, text_len FROM results WHERE result_rank = 1
)
SELECT calls.tool_use_id AS tool_use_id, calls.tool_name AS tool_name,
  CASE WHEN answers.tool_use_id IS NULL THEN 'no_result' WHEN answers.is_error THEN 'failed'
    ELSE 'ok' END AS call_state,
  calls.machine AS machine, calls.user_id AS user_id, calls.project AS project,
  calls.session_id AS session_id, calls.agent_id AS agent_id, calls.is_sidechain AS is_sidechain,
  calls.model AS model, calls.message_id AS message_id, calls.ts_ms AS ts_ms, calls.day AS day,
  calls.week AS week, calls.month AS month, calls.file_path AS file_path,
  calls.text_len AS input_len, COALESCE(answers.text_len, 0) AS result_len,
  CASE WHEN answers.ts_ms >= calls.ts_ms THEN answers.ts_ms - calls.ts_ms END AS duration_ms
FROM calls LEFT JOIN answers ON calls.tool_use_id = answers.tool_use_id
WHERE calls.call_rank = 1

-- view: turns
-- about: One row for each turn: from a prompt to the line before the next one, in the order of the file.
-- column: machine | The machine.
-- column: user_id | Who uses that machine.
-- column: project | The folder name of the project.
-- column: session_id | The session.
-- column: file_id | The log file.
-- column: agent_id | The subagent.
-- column: turn | Its number in the log, from 1.
-- column: turn_kind | What began it: human, command, agent_task, …
-- column: prompt_uuid | The line with the prompt.
-- column: started_ms | When it began, in milliseconds since 1970.
-- column: ended_ms | When its last message or result was written.
-- column: duration_ms | The time between the two.
-- column: waited_ms | Of a human prompt: how long the session had been waiting for it.
-- column: day | The UTC day.
-- column: week | The Monday of that week.
-- column: month | The first day of that month.
-- column: message_count | API messages.
-- column: api_errors | Errors of the API.
-- column: interrupted | 1 if the user interrupted it, else 0.
-- column: line_count | Its lines.
WITH numbered AS (
  SELECT machine, user_id, project, session_id, file_id, gen, ts_ms, day, week, month, uuid,
    user_kind, line_type, starts_turn, agent_id, is_api_error, message_id,
    SUM(CASE WHEN starts_turn THEN 1 ELSE 0 END) OVER (PARTITION BY machine, file_id, gen
      ORDER BY off ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS turn
  FROM lines
),
grouped AS (
  SELECT machine, file_id, gen, turn, MIN(user_id) AS one_user, MIN(project) AS one_project,
    MIN(session_id) AS one_session, MIN(agent_id) AS one_agent,
    MIN(CASE WHEN starts_turn THEN ts_ms END) AS first_ms,
    MAX(CASE WHEN line_type IN ('user', 'assistant') THEN ts_ms END) AS last_ms, MIN(day) AS first_day, MIN(week) AS first_week,
    MIN(month) AS first_month,
    MAX(CASE WHEN starts_turn THEN user_kind END) AS first_kind,
    MAX(CASE WHEN starts_turn THEN uuid END) AS first_uuid,
    COUNT(DISTINCT CASE WHEN line_type = 'assistant' THEN message_id END) AS messages_in,
    SUM(CASE WHEN is_api_error THEN 1 ELSE 0 END) AS errors_in,
    MAX(CASE WHEN user_kind = 'interrupt' THEN 1 ELSE 0 END) AS stopped,
    COUNT(*) AS lines_in
  FROM numbered WHERE turn > 0 GROUP BY machine, file_id, gen, turn
),
ranked AS (
  SELECT machine, file_id, gen, turn, one_user, one_project, one_session, one_agent, first_ms,
    last_ms, first_day, first_week, first_month, first_kind, first_uuid, messages_in, errors_in,
    stopped, lines_in,
    LAG(last_ms, 1, 0) OVER (PARTITION BY machine, file_id, gen ORDER BY turn) AS before_ms,
    ROW_NUMBER() OVER (PARTITION BY machine, file_id, COALESCE(first_uuid, gen), CASE WHEN
      first_uuid IS NULL THEN turn ELSE 0 END ORDER BY lines_in DESC, gen, turn) AS life_rank
  FROM grouped
)
SELECT machine AS machine, one_user AS user_id, one_project AS project, one_session AS session_id,
  file_id AS file_id, one_agent AS agent_id, turn AS turn, first_kind AS turn_kind,
  first_uuid AS prompt_uuid, first_ms AS started_ms, last_ms AS ended_ms,
  last_ms - first_ms AS duration_ms,
  CASE WHEN first_kind = 'human' AND before_ms > 0 AND first_ms >= before_ms
    THEN first_ms - before_ms END AS waited_ms,
  first_day AS day, first_week AS week, first_month AS month, messages_in AS message_count,
  errors_in AS api_errors, stopped AS interrupted, lines_in AS line_count
FROM ranked WHERE life_rank = 1

-- view: sessions
-- about: One row for each session, subagents included.
-- column: session_id | The session.
-- column: machine | A machine that has it.
-- column: user_id | Who uses that machine.
-- column: project | The folder name of the project.
-- column: started_ms | The time of its first line, in milliseconds since 1970.
-- column: ended_ms | The time of its last line.
-- column: day | The UTC day of its first line.
-- column: week | The Monday of that week.
-- column: month | The first day of that month.
-- column: line_count | Its lines.
-- column: prompt_count | Prompts of the user.
-- column: agent_count | Subagents.
-- column: client_version | The newest version of Claude Code, in the order of text.
-- column: message_count | API messages.
-- column: all_tokens | Tokens of all kinds.
-- column: cost_micros | The known cost in micro-dollars.
WITH told AS (
  SELECT session_id, MIN(machine) AS one_machine, MIN(user_id) AS one_user,
    MIN(project) AS one_project, MIN(ts_ms) AS first_ms, MAX(ts_ms) AS last_ms,
    MIN(day) AS first_day, MIN(week) AS first_week, MIN(month) AS first_month,
    COUNT(*) AS lines_in,
    COUNT(DISTINCT CASE WHEN starts_turn AND user_kind = 'human' AND agent_id IS NULL THEN uuid END)
      AS prompts_in,
    COUNT(DISTINCT agent_id) AS agents_in, MAX(client_version) AS last_version
  FROM lines WHERE session_id IS NOT NULL GROUP BY session_id
),
spent AS (
  SELECT session_id, COUNT(*) AS messages_in,
    SUM(input_tokens + output_tokens + cache_read_tokens + cache_write_tokens) AS tokens_in,
    SUM(COALESCE(cost_micros, 0)) AS cost_in
  FROM messages WHERE session_id IS NOT NULL GROUP BY session_id
)
SELECT told.session_id AS session_id, told.one_machine AS machine, told.one_user AS user_id,
  told.one_project AS project, told.first_ms AS started_ms, told.last_ms AS ended_ms,
  told.first_day AS day, told.first_week AS week, told.first_month AS month,
  told.lines_in AS line_count, told.prompts_in AS prompt_count, told.agents_in AS agent_count,
  told.last_version AS client_version, COALESCE(spent.messages_in, 0) AS message_count,
  COALESCE(spent.tokens_in, 0) AS all_tokens, COALESCE(spent.cost_in, 0) AS cost_micros
FROM told LEFT JOIN spent ON told.session_id = spent.session_id
