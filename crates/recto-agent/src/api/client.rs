//! The client: one for each endpoint, cheap to clone.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::PoisonError;
use std::time::Duration;

use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use reqwest::header::HeaderMap;
use reqwest::header::HeaderValue;
use reqwest::redirect::Policy;
use tokio::sync::Mutex;

use super::Adaptation;
use super::ApiError;
use super::ApiEvent;
use super::Credential;
use super::Endpoint;
use super::Exchange;
use super::Failure;
use super::Proxy;
use super::adapt::adapt;
use super::attempt;
use super::cost::estimate_tokens;
use crate::wire::Answer;
use crate::wire::Json;
use crate::wire::Request;

/// The version of the API that is spoken.
const API_VERSION: &str = "2023-06-01";

/// Who we say that we are.
const USER_AGENT: &str = concat!("recto/", env!("CARGO_PKG_VERSION"));

/// The most bytes of a list of models, or of a count.
const MOST_SMALL_BYTES: usize = 16 << 20;

/// Asks one endpoint.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    endpoint: Arc<Endpoint>,
    /// What the command of the user printed.
    key: Arc<Mutex<Option<HeaderMap>>>,
    /// The changes that were told.
    told: Arc<std::sync::Mutex<HashSet<Adaptation>>>,
}

impl Client {
    /// Makes ready to ask; connects to nothing.
    pub fn new(endpoint: Endpoint) -> Result<Client, ApiError> {
        let mut builder = reqwest::Client::builder()
            .user_agent(USER_AGENT)
            .connect_timeout(endpoint.timeouts.connect)
            // A key must not follow wherever an endpoint points.
            .redirect(Policy::none())
            .tcp_nodelay(true);
        if endpoint.base.scheme() == "http" {
            // Reading all certificates of a system takes longer than starting this program.
            builder = builder.tls_built_in_root_certs(false);
        }
        if endpoint.is_loopback() || endpoint.proxy == Proxy::Direct {
            builder = builder.no_proxy();
        } else if let Proxy::Url(url) = &endpoint.proxy {
            let bad = |_| ApiError::BadSetting { what: "the proxy" };
            builder = builder.proxy(reqwest::Proxy::all(url).map_err(bad)?);
        }
        if let Some(pem) = &endpoint.certificates {
            let bad = ApiError::BadSetting { what: "the certificate file" };
            let certificates = reqwest::Certificate::from_pem_bundle(pem);
            let certificates = certificates.map_err(|_| bad.clone())?;
            if certificates.is_empty() {
                return Err(bad);
            }
            for certificate in certificates {
                builder = builder.add_root_certificate(certificate);
            }
        }
        let bad = |_| ApiError::BadSetting { what: "this system's TLS" };
        let http = builder.build().map_err(bad)?;
        Ok(Client { http, endpoint: Arc::new(endpoint), key: Arc::default(), told: Arc::default() })
    }

    /// The endpoint that is asked.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Asks, and asks again where that may help. Must be called inside a tokio runtime.
    pub fn send(&self, request: Request) -> Exchange {
        Exchange::start(self.clone(), request)
    }

    /// Asks and waits, for programs without a runtime; `told` gets everything that happens
    /// before the end.
    pub fn ask(&self, request: Request, told: impl Fn(&ApiEvent)) -> Result<Answer, Failure> {
        let failure = |what| Failure {
            error: ApiError::BadSetting { what },
            attempts: 0,
            request_id: None,
            partial: Vec::new(),
        };
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().build();
        let runtime = runtime.map_err(|_| failure("this system's network"))?;
        runtime.block_on(async {
            let mut exchange = self.send(request);
            while let Some(event) = exchange.next().await {
                match event? {
                    ApiEvent::Answer(answer) => return Ok(*answer),
                    event => told(&event),
                }
            }
            Err(failure("this system's network"))
        })
    }

    /// Changes a request until the endpoint accepts it. Says what was not said before.
    pub(super) fn adapt(&self, request: &mut Request) -> Vec<Adaptation> {
        let endpoint = &self.endpoint;
        let mut changes = adapt(request, endpoint.host_name(), &endpoint.capabilities);
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        changes.retain(|change| told.insert(change.clone()));
        changes
    }

    /// How many tokens a request has: by the endpoint's word where it counts, else estimated.
    pub async fn count_tokens(&self, request: &Request) -> Result<u64, ApiError> {
        if !self.endpoint.capabilities.count_tokens {
            return Ok(estimate_tokens(request));
        }
        let mut request = request.clone();
        self.adapt(&mut request);
        let path = "/v1/messages/count_tokens";
        let response = self.post(path, request.count_body(), &request.betas).await?;
        let json = self.small(response).await?;
        json.value().get("input_tokens").and_then(|tokens| tokens.as_u64()).ok_or_else(|| {
            ApiError::NotTheApi { host: self.endpoint.host(), kind: "application/json".into() }
        })
    }

    /// The models that the endpoint offers, by id.
    pub async fn models(&self) -> Result<Vec<String>, ApiError> {
        let headers = self.headers(&[]).await?;
        let sent = self.http.get(self.endpoint.url("/v1/models")).headers(headers).send();
        let json = self.small(self.response(sent).await?).await?;
        let data = json.get("data");
        let models = data.iter().flat_map(|data| {
            let ids = data.value().elements().filter_map(|model| model.str("id"));
            ids.map(|id| id.into_owned()).collect::<Vec<_>>()
        });
        Ok(models.collect())
    }

    async fn small(&self, response: Response) -> Result<Json, ApiError> {
        if !response.status().is_success() {
            return Err(attempt::refusal(self, response).await.error);
        }
        let body = attempt::read(self, response, MOST_SMALL_BYTES).await?;
        let host = self.endpoint.host();
        Json::parse(body).map_err(|_| ApiError::NotTheApi { host, kind: "text".into() })
    }

    pub(super) async fn post(
        &self,
        path: &str,
        body: Vec<u8>,
        betas: &[String],
    ) -> Result<Response, ApiError> {
        let headers = self.headers(betas).await?;
        let sent = self
            .http
            .post(self.endpoint.url(path))
            .headers(headers)
            .header(CONTENT_TYPE, "application/json")
            .body(body)
            .send();
        self.response(sent).await
    }

    async fn response(
        &self,
        sent: impl Future<Output = Result<Response, reqwest::Error>>,
    ) -> Result<Response, ApiError> {
        let host = self.endpoint.host();
        let after: Duration = self.endpoint.timeouts.response;
        match tokio::time::timeout(after, sent).await {
            Err(_) => Err(ApiError::Timeout { host, after }),
            Ok(sent) => sent.map_err(|error| ApiError::of_http(&error, &host, after)),
        }
    }

    async fn headers(&self, betas: &[String]) -> Result<HeaderMap, ApiError> {
        let mut headers = self.key_headers().await?;
        headers.insert("anthropic-version", HeaderValue::from_static(API_VERSION));
        if !betas.is_empty() {
            let bad = |_| ApiError::BadHeader { name: "anthropic-beta".into() };
            let value = HeaderValue::try_from(betas.join(",")).map_err(bad)?;
            headers.insert("anthropic-beta", value);
        }
        // The user's own headers win.
        for (name, value) in &self.endpoint.headers {
            headers.insert(name, value.clone());
        }
        Ok(headers)
    }

    async fn key_headers(&self) -> Result<HeaderMap, ApiError> {
        let mut kept = self.key.lock().await;
        if let Some(headers) = &*kept {
            return Ok(headers.clone());
        }
        let headers = self.endpoint.credential.headers().await?;
        *kept = Some(headers.clone());
        Ok(headers)
    }

    pub(super) fn has_key_command(&self) -> bool {
        matches!(self.endpoint.credential, Credential::Command(_))
    }

    /// The command of the user is asked again next time.
    pub(super) async fn forget_key(&self) {
        *self.key.lock().await = None;
    }
}
