//! The session, on a thread of its own: orders in, what happens out.

use std::io;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use recto_agent::turn::DeskFacts;
use recto_agent::turn::Prompt;
use recto_agent::turn::Question;
use recto_agent::turn::RunEnd;
use recto_agent::turn::Setup;
use recto_agent::turn::TurnEvent;
use serde_json::Value;

/// How long a session that is told to end may take.
const LAST_MOMENT: Duration = Duration::from_millis(1500);

/// What the session tells.
pub(super) enum Told {
    Event(Box<TurnEvent>),
    Asked(Box<Question>),
    /// The session is over; what went wrong, if something did.
    Over(Result<RunEnd, String>),
}

/// What the session is told.
pub(super) enum Order {
    Prompt(Box<Prompt>),
    /// A line of the control protocol.
    Request(Value),
    Interrupt,
    Stop,
}

/// A session that runs.
pub(super) struct Host {
    orders: tokio::sync::mpsc::UnboundedSender<Order>,
    pub(super) told: mpsc::Receiver<Told>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Host {
    pub(super) fn start(mut setup: Setup, facts: DeskFacts) -> io::Result<Host> {
        let (orders, taken) = tokio::sync::mpsc::unbounded_channel();
        let (tell, told) = mpsc::channel();
        let (asker, questions) = tokio::sync::mpsc::channel(1);
        setup.asker = Some(asker);
        setup.is_attended = true;
        // The console speaks to the session as any host does.
        setup.with.is_hosted = true;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let thread = thread::Builder::new().name("session".into()).spawn(move || {
            let over = runtime.block_on(work(setup, facts, taken, questions, &tell));
            let _ = tell.send(Told::Over(over));
        })?;
        Ok(Host { orders, told, thread: Some(thread) })
    }

    pub(super) fn order(&self, order: Order) {
        // A session that is over hears nothing.
        let _ = self.orders.send(order);
    }

    /// Ends the session, and waits until its last line is written.
    pub(super) fn stop(&mut self) {
        self.order(Order::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn work(
    setup: Setup,
    facts: DeskFacts,
    mut orders: tokio::sync::mpsc::UnboundedReceiver<Order>,
    mut questions: tokio::sync::mpsc::Receiver<Question>,
    tell: &mpsc::Sender<Told>,
) -> Result<RunEnd, String> {
    let (runner, control, mut events) = setup.start();
    let Some(mut desk) = runner.desk(facts) else { return Err("no desk".to_owned()) };
    let mut running = tokio::spawn(runner.run());
    let steering = control.clone();
    // Answers go through the events, so those must be taken meanwhile.
    let taking = tokio::spawn(async move {
        while let Some(order) = orders.recv().await {
            match order {
                Order::Prompt(prompt) => desk.prompt(*prompt).await,
                Order::Request(line) => desk.request(&line).await,
                Order::Interrupt => {
                    steering.interrupt();
                }
                Order::Stop => break,
            }
        }
    });
    tokio::pin!(taking);
    let mut is_stopping = false;
    let end = loop {
        tokio::select! {
            biased;
            event = events.recv() => {
                if let Some(event) = event
                    && tell.send(Told::Event(Box::new(event))).is_err()
                {
                    control.stop();
                }
            }
            Some(question) = questions.recv() => {
                let _ = tell.send(Told::Asked(Box::new(question)));
            }
            end = &mut running => break end,
            _ = &mut taking, if !is_stopping => {
                is_stopping = true;
                control.stop();
            }
            () = tokio::time::sleep(LAST_MOMENT), if is_stopping => return Ok(RunEnd::default()),
        }
    };
    while let Ok(event) = events.try_recv() {
        let _ = tell.send(Told::Event(Box::new(event)));
    }
    end.map_err(|error| format!("the session failed: {error}"))
}
