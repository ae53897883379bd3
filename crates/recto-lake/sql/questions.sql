-- question: totals
-- about: Tokens and cost of everything
SELECT COUNT(*) AS message_count, SUM(input_tokens) AS input_sum, SUM(output_tokens) AS output_sum,
  SUM(cache_read_tokens) AS cache_read_sum, SUM(cache_write_tokens) AS cache_write_sum,
  SUM(COALESCE(cost_micros, 0)) AS cost_micros_sum
FROM messages

-- question: cost-by-day
-- about: Cost and tokens by day
SELECT day, COUNT(*) AS message_count,
  SUM(input_tokens + output_tokens + cache_read_tokens + cache_write_tokens) AS tokens_sum,
  SUM(COALESCE(cost_micros, 0)) AS cost_micros_sum
FROM messages GROUP BY day ORDER BY day

-- question: cost-by-week
-- about: Cost and tokens by week
SELECT week, COUNT(*) AS message_count, COUNT(DISTINCT session_id) AS session_count,
  SUM(input_tokens + output_tokens + cache_read_tokens + cache_write_tokens) AS tokens_sum,
  SUM(COALESCE(cost_micros, 0)) AS cost_micros_sum
FROM messages GROUP BY week ORDER BY week

-- question: cost-by-model
-- about: Cost and tokens by month and model
SELECT month, COALESCE(model, '') AS model_name, COUNT(*) AS message_count,
  SUM(input_tokens) AS input_sum, SUM(output_tokens) AS output_sum,
  SUM(COALESCE(cost_micros, 0)) AS cost_micros_sum
FROM messages GROUP BY month, COALESCE(model, '') ORDER BY month, model_name

-- question: cost-by-project
-- about: Cost by project, most expensive first
SELECT COALESCE(project, '') AS project_name, COUNT(DISTINCT session_id) AS session_count,
  COUNT(*) AS message_count, SUM(COALESCE(cost_micros, 0)) AS cost_micros_sum
FROM messages GROUP BY COALESCE(project, '') ORDER BY cost_micros_sum DESC, project_name

-- question: cost-by-user
-- about: Cost by user and week
SELECT COALESCE(user_id, '') AS user_name, week, COUNT(DISTINCT session_id) AS session_count,
  SUM(COALESCE(cost_micros, 0)) AS cost_micros_sum
FROM messages GROUP BY COALESCE(user_id, ''), week ORDER BY week, user_name

-- question: cost-by-agent
-- about: Cost of the main conversation and of subagents by month
SELECT month, CASE WHEN is_sidechain THEN 'subagent' ELSE 'main' END AS place,
  COUNT(*) AS message_count, SUM(COALESCE(cost_micros, 0)) AS cost_micros_sum
FROM messages GROUP BY month, CASE WHEN is_sidechain THEN 'subagent' ELSE 'main' END
ORDER BY month, place

-- question: top-sessions
-- about: The 20 most expensive sessions
SELECT session_id, COALESCE(project, '') AS project_name, day, prompt_count, message_count,
  all_tokens, cost_micros
FROM sessions ORDER BY cost_micros DESC, session_id LIMIT 20

-- question: cache-hits
-- about: How much input comes from the cache, by day
WITH sums AS (
  SELECT day, SUM(cache_read_tokens) AS read_sum,
    SUM(input_tokens + cache_read_tokens + cache_write_tokens) AS sent_sum
  FROM messages GROUP BY day
)
SELECT day, read_sum, sent_sum,
  CASE WHEN sent_sum > 0 THEN CAST(read_sum AS DOUBLE) * 100 / sent_sum END AS hit_percent
FROM sums ORDER BY day

-- question: tool-failures
-- about: Which tools fail most
SELECT COALESCE(tool_name, '') AS tool, COUNT(*) AS call_count,
  SUM(CASE WHEN call_state = 'no_result' THEN 1 ELSE 0 END) AS unanswered_count,
  SUM(CASE WHEN call_state = 'failed' THEN 1 ELSE 0 END) AS failed_count
FROM tool_calls GROUP BY COALESCE(tool_name, '') ORDER BY failed_count DESC, tool

-- question: tool-failures-by-week
-- about: Failure rate of tools by week
SELECT week, COALESCE(tool_name, '') AS tool, COUNT(*) AS call_count,
  CAST(SUM(CASE WHEN call_state = 'failed' THEN 1 ELSE 0 END) AS DOUBLE) * 100 / COUNT(*)
    AS failed_percent
FROM tool_calls GROUP BY week, COALESCE(tool_name, '') ORDER BY week, tool

-- question: slow-tools
-- about: Median and 95th percentile of tool durations
WITH ranked AS (
  SELECT COALESCE(tool_name, '') AS tool, duration_ms,
    ROW_NUMBER() OVER (PARTITION BY COALESCE(tool_name, '') ORDER BY duration_ms, tool_use_id)
      AS place,
    COUNT(*) OVER (PARTITION BY COALESCE(tool_name, '')) AS all_count
  FROM tool_calls WHERE duration_ms IS NOT NULL
)
SELECT tool, MAX(all_count) AS call_count,
  MIN(CASE WHEN place * 2 >= all_count THEN duration_ms END) AS median_ms,
  MIN(CASE WHEN place * 20 >= all_count * 19 THEN duration_ms END) AS p95_ms
FROM ranked GROUP BY tool ORDER BY p95_ms DESC, tool

-- question: large-results
-- about: Tools whose results fill the context
SELECT COALESCE(tool_name, '') AS tool, COUNT(*) AS call_count, SUM(result_len) AS result_bytes,
  MAX(result_len) AS largest_bytes
FROM tool_calls GROUP BY COALESCE(tool_name, '') ORDER BY result_bytes DESC, tool

-- question: failing-files
-- about: Files whose tool calls fail most
SELECT file_path, COUNT(*) AS call_count,
  SUM(CASE WHEN call_state = 'failed' THEN 1 ELSE 0 END) AS failed_count,
  COUNT(DISTINCT session_id) AS session_count
FROM tool_calls WHERE file_path IS NOT NULL GROUP BY file_path
HAVING SUM(CASE WHEN call_state = 'failed' THEN 1 ELSE 0 END) > 0
ORDER BY failed_count DESC, file_path LIMIT 50

-- question: edited-files
-- about: Files that are edited most
SELECT file_path, COUNT(*) AS edit_count, COUNT(DISTINCT session_id) AS session_count
FROM tool_calls
WHERE file_path IS NOT NULL AND tool_name IN ('Edit', 'MultiEdit', 'Write', 'NotebookEdit')
GROUP BY file_path ORDER BY edit_count DESC, file_path LIMIT 50

-- question: waiting
-- about: How long sessions waited for people, by week
SELECT week, COUNT(waited_ms) AS wait_count, SUM(COALESCE(waited_ms, 0)) AS waited_ms_sum
FROM turns WHERE waited_ms IS NOT NULL AND waited_ms < 86400000 GROUP BY week ORDER BY week

-- question: turn-times
-- about: Median and 95th percentile of turn durations by project
WITH ranked AS (
  SELECT COALESCE(project, '') AS project_name, duration_ms,
    ROW_NUMBER() OVER (PARTITION BY COALESCE(project, '')
      ORDER BY duration_ms, machine, file_id, turn) AS place,
    COUNT(*) OVER (PARTITION BY COALESCE(project, '')) AS all_count
  FROM turns WHERE duration_ms IS NOT NULL AND agent_id IS NULL
)
SELECT project_name, MAX(all_count) AS turn_count,
  MIN(CASE WHEN place * 2 >= all_count THEN duration_ms END) AS median_ms,
  MIN(CASE WHEN place * 20 >= all_count * 19 THEN duration_ms END) AS p95_ms
FROM ranked GROUP BY project_name ORDER BY p95_ms DESC, project_name

-- question: interruptions
-- about: How often people interrupt, by week
SELECT week, COUNT(*) AS turn_count, SUM(interrupted) AS interrupted_count
FROM turns WHERE turn_kind = 'human' GROUP BY week ORDER BY week

-- question: api-errors
-- about: Errors of the API by day
SELECT day, COUNT(*) AS error_count, COUNT(DISTINCT session_id) AS session_count
FROM lines WHERE is_api_error GROUP BY day ORDER BY day

-- question: model-change
-- about: Output, cost and failures by week and model
WITH calls AS (
  SELECT week, COALESCE(model, '') AS model_name, COUNT(*) AS calls_in,
    SUM(CASE WHEN call_state = 'failed' THEN 1 ELSE 0 END) AS failed_in
  FROM tool_calls GROUP BY week, COALESCE(model, '')
),
spent AS (
  SELECT week, COALESCE(model, '') AS model_name, COUNT(*) AS messages_in,
    SUM(output_tokens) AS output_in, SUM(COALESCE(cost_micros, 0)) AS cost_in
  FROM messages GROUP BY week, COALESCE(model, '')
)
SELECT spent.week AS week, spent.model_name AS model_name, spent.messages_in AS message_count,
  spent.output_in AS output_sum, spent.cost_in AS cost_micros_sum,
  COALESCE(calls.calls_in, 0) AS call_count, COALESCE(calls.failed_in, 0) AS failed_count
FROM spent LEFT JOIN calls ON spent.week = calls.week AND spent.model_name = calls.model_name
ORDER BY spent.week, spent.model_name

-- question: versions
-- about: Versions of Claude Code by month
SELECT month, COALESCE(client_version, '') AS version, COUNT(DISTINCT session_id) AS session_count
FROM lines WHERE line_type = 'assistant' GROUP BY month, COALESCE(client_version, '')
ORDER BY month, version

-- question: branches
-- about: Lines by git branch and project
SELECT COALESCE(project, '') AS project_name, COALESCE(git_branch, '') AS branch_name,
  COUNT(DISTINCT session_id) AS session_count, COUNT(*) AS line_count
FROM lines WHERE line_type IN ('user', 'assistant')
GROUP BY COALESCE(project, ''), COALESCE(git_branch, '')
ORDER BY line_count DESC, project_name, branch_name LIMIT 50

-- question: subagents
-- about: How many subagents sessions start, by week
SELECT week, COUNT(*) AS session_count,
  SUM(CASE WHEN agent_count > 0 THEN 1 ELSE 0 END) AS with_agents, SUM(agent_count) AS agent_sum
FROM sessions GROUP BY week ORDER BY week

-- question: line-types
-- about: Lines and bytes by type
SELECT line_type, SUM(CASE WHEN is_bad THEN 1 ELSE 0 END) AS bad_count, COUNT(*) AS line_count,
  SUM(len) AS bytes_sum
FROM lines GROUP BY line_type ORDER BY line_count DESC, line_type

-- question: unpriced
-- about: Models without a price
SELECT COALESCE(model, '') AS model_name, COUNT(*) AS message_count,
  SUM(output_tokens) AS output_sum
FROM messages WHERE cost_micros IS NULL GROUP BY COALESCE(model, '')
ORDER BY message_count DESC, model_name
