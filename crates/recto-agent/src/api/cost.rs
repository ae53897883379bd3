//! Tokens and money.

use recto_session::usage::Money;
use recto_session::usage::PriceTable;
use recto_session::usage::Unpriced;

use crate::wire::Answer;
use crate::wire::Request;

/// What an answer costs, by the prices of today. A model without a price has no cost.
pub fn cost_of(answer: &Answer, prices: &PriceTable) -> Result<Money, Unpriced> {
    let model = answer.model();
    let Some(usage) = answer.message.value().get("usage") else { return Err(Unpriced::Model) };
    prices.cost_of(&model, usage, jiff::Timestamp::now())
}

/// About how many tokens a request has, where the endpoint does not count: a quarter of the
/// bytes, and a fixed number for each picture, whose bytes say nothing.
pub fn estimate_tokens(request: &Request) -> u64 {
    const OF_A_PICTURE: u64 = 1_600;
    let mut bytes: u64 = request.tools.iter().map(|tool| tool.bytes().len() as u64).sum();
    bytes += request.system.iter().map(|block| block.json().bytes().len() as u64).sum::<u64>();
    let mut pictures = 0;
    for block in request.messages.iter().flat_map(|message| message.blocks()) {
        match block.view() {
            recto_log::Block::Image { .. } | recto_log::Block::Document { .. } => pictures += 1,
            _ => bytes += block.json().bytes().len() as u64,
        }
    }
    bytes.div_ceil(4) + pictures * OF_A_PICTURE
}
