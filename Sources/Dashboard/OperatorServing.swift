import Foundation
import HTTPTypes
import History
import Hummingbird
import Monitoring
import NIOCore
import Program
import Reports
import Tokens

// Actions of operators. A page shows what would be done, and its form does it once.

extension DashboardServer {
    func addForms(to router: Router<ServedContext>) {
        for form in OperatorForm.allCases {
            let path = RouterPath(form.path)
            for method in [HTTPRequest.Method.get, .head] {
                router.on(path, method: method) { request, context in
                    guard let asked = self.asked(request, context) else {
                        return Self.malformedQuery(request)
                    }
                    switch self.admission(request, asked) {
                    case .refused(let response): return response
                    case .reads(let scope): return await self.preview(form, asked, scope)
                    }
                }
            }
            router.post(path) { request, context in
                try await self.answerForm(request, context) { asked, fields in
                    switch self.admission(request, asked) {
                    case .refused(let response): return response
                    case .reads(let scope): return await self.act(form, asked, fields, scope)
                    }
                }
            }
        }
    }

    private func preview(
        _ form: OperatorForm, _ asked: Asked, _ scope: [ReportRequest.Condition]
    ) async -> Response {
        let id = asked.cookies[DashboardAccess.cookie]
        let mayAct = actor(asked) != nil
        return await onOwnThread(asked) {
            let builder = self.builder(asked, scope)
            guard let id, mayAct else { return self.response(self.mayNotAct(builder, asked)) }
            return self.response(form.preview(builder, formToken: DashboardAccess.formToken(id)))
        }
    }

    private func act(
        _ form: OperatorForm, _ asked: Asked, _ fields: QueryParameters,
        _ scope: [ReportRequest.Condition]
    ) async -> Response {
        let session = asked.cookies[DashboardAccess.cookie]
        guard let actor = actor(asked) else {
            return await onOwnThread(asked) {
                self.response(self.mayNotAct(self.builder(asked, scope), asked))
            }
        }
        guard DashboardAccess.isFormToken(fields["form"], of: session),
            let id = fields["action"], OperatorForm.isActionID(id)
        else {
            return response(
                builder(asked, scope).framed(
                    "Nothing was done", status: 403, formToken(asked)
                ) { html in
                    html.element(
                        "p", ["class": "warning", "role": "alert"],
                        text:
                            "The form is not from your present session. Go back, reload the page and confirm again."
                    )
                })
        }
        logger.notice(
            "an operator acts",
            metadata: ["action": "\(form.rawValue)", "by": "\(actor.name)", "id": "\(id)"])
        return await onOwnThread(asked) {
            let builder = self.builder(asked, scope)
            let installation = builder.source.installation
            do {
                try form.act(
                    fields, id: id, by: Operator(name: actor.name, token: actor.tokenID),
                    installation)
            } catch {
                // The log of actions has the reason, if the action had begun.
                let log = OperatorLog(directories: installation.directories)
                let hasBegun = (try? log.entries())?.entries.contains { $0.id == id } ?? false
                guard hasBegun else {
                    return self.response(builder.failure(error, self.formToken(asked)))
                }
            }
            self.noteAction()
            return Self.redirect(to: PageAddress("/actions", [("id", id)]).text)
        }
    }

    private func actor(_ asked: Asked) -> ReadToken.Actor? {
        let permission = access.permission(cookies: asked.cookies, nowSeconds: Self.nowSeconds)
        return if case .operates(let actor) = permission { actor } else { nil }
    }

    /// How to become an operator.
    private func mayNotAct(_ builder: PageBuilder, _ asked: Asked) -> PageBuilder.Made {
        let isSignedIn = formToken(asked) != nil
        let canSignIn = access.canSignIn
        return builder.framed("Only operators can do this", status: 403, formToken(asked)) {
            html in
            html.element(
                "p", ["class": "warning", "role": "alert"],
                text: isSignedIn
                    ? "Your token only reads. Nothing was done."
                    : "You are not signed in as an operator. Nothing was done.")
            html.element("ol") { html in
                if !canSignIn {
                    html.element("li") { html in
                        html.text("Create a signing key, and restart the dashboard:")
                        html.element(
                            "pre",
                            text: "weir token new-key --out pipelines/token-key")
                        html.element(
                            "pre",
                            text:
                                "echo 'token_keys: [{id: k1, file: token-key}]' >> pipelines/collector.yaml"
                        )
                    }
                }
                html.element("li") { html in
                    html.text("Ask the person who runs Weir for an operator's token:")
                    html.element(
                        "pre", text: "weir token make --operate --name YOUR-NAME --expires-in 8h")
                }
                html.element("li") { html in
                    let words = "\(isSignedIn ? "Sign out, and sign" : "Sign") in with this token"
                    if canSignIn {
                        html.element("a", ["href": "/sign-in"], text: words)
                    } else {
                        html.text(words)
                    }
                    html.text(". Then repeat the action.")
                }
            }
        }
    }

    private func builder(_ asked: Asked, _ scope: [ReportRequest.Condition]) -> PageBuilder {
        PageBuilder(
            source: pageSource(), route: nil, path: asked.path, parameters: asked.query,
            scope: scope)
    }

    private func response(_ made: PageBuilder.Made) -> Response {
        Self.response(.init(code: made.status), made.contentType, made.body)
    }

    /// An action may read much of the log, and must not occupy the threads of pages.
    private func onOwnThread(
        _ asked: Asked, _ work: @escaping @Sendable () -> Response
    ) async -> Response {
        let response: Response? = await withCheckedContinuation { continuation in
            let isBegun = operations.begin { continuation.resume(returning: work()) }
            if !isBegun { continuation.resume(returning: nil) }
        }
        guard let response else {
            var busy = Self.fault(
                .serviceUnavailable, "other actions are running: try again in a few seconds",
                at: asked.path)
            busy.headers[.retryAfter] = "5"
            return busy
        }
        return response
    }
}
