import Foundation
import HTTPTypes
import Hummingbird
import Logging
import Monitoring
import NIOCore
import Tokens

// Signing in with a read token, and signing out.

extension DashboardServer {
    func answerForm(
        _ request: Request, _ context: ServedContext,
        _ answer: (Asked, QueryParameters) async -> Response
    ) async throws -> Response {
        guard let asked = asked(request, context) else { return Self.malformedQuery(request) }
        let text: String
        do {
            text = String(
                decoding: try await BodyBytes.receive(
                    request, from: context.client, counted: connections.bodies,
                    maxCount: Self.mostFormBytes
                ).bytes, as: UTF8.self)
        } catch BodyRefusal.tooLarge(let maxCount) {
            return Self.plain(.contentTooLarge, "the form is larger than \(maxCount) bytes")
        } catch BodyRefusal.tooBusy {
            var response = Self.plain(
                .serviceUnavailable, "too many concurrent forms: try again")
            response.headers[.retryAfter] = "1"
            return response
        }
        guard let form = QueryParameters(text) else {
            return Self.plain(.badRequest, "the form is not percent-encoded UTF-8")
        }
        return await answer(asked, form)
    }

    func signIn(_ asked: Asked, _ form: QueryParameters) -> Response {
        guard
            DashboardAccess.isFormToken(
                form["form"], of: asked.cookies[DashboardAccess.formCookie])
        else {
            return signInPage(asked, .forbidden, fault: "The form has expired. Try again.")
        }
        let now = Self.nowSeconds
        if let seconds = access.secondsToWait(asked.address, now) {
            var response = signInPage(
                asked, .tooManyRequests, fault: "Too many invalid tokens. Wait a minute.")
            response.headers[.retryAfter] = "\(seconds)"
            return response
        }
        let token = (form["token"] ?? "").trimmingCharacters(in: .whitespacesAndNewlines)
        guard let session = access.signIn(token, address: asked.address, nowSeconds: now) else {
            logRefusal(of: asked.address)
            var response = signInPage(
                asked, .unauthorized,
                fault:
                    "The read token is invalid or expired. Make a new one with weir token make --read or --operate."
            )
            response.headers[.wwwAuthenticate] = "Bearer"
            return response
        }
        return Self.redirect(to: "/", setting: (DashboardAccess.cookie, session), asked.isSecure)
    }

    func signOut(_ asked: Asked, _ form: QueryParameters) -> Response {
        let id = asked.cookies[DashboardAccess.cookie]
        if let id, DashboardAccess.isFormToken(form["form"], of: id) { access.signOut(id) }
        return Self.redirect(
            to: "/sign-in", setting: (DashboardAccess.cookie, ""), asked.isSecure)
    }

    func signInPage(
        _ asked: Asked, _ status: HTTPResponse.Status = .ok, fault: String? = nil
    ) -> Response {
        let id = SecretText.random()
        var html = HTML()
        html.beginDocument()
        html.element("head") { html in
            html.element("meta", ["charset": "utf-8"])
            html.element(
                "meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"])
            html.element("title", text: "Sign in · Weir")
            html.element("link", ["rel": "stylesheet", "href": "/dashboard.css"])
        }
        html.element("body") { html in
            html.element("main", ["class": "sign-in"]) { html in
                html.element("h1", text: "Weir")
                if let fault {
                    html.element("p", ["class": "warning", "role": "alert"], text: fault)
                }
                html.element("form", ["action": "/sign-in", "method": "post"]) { html in
                    html.element(
                        "input",
                        [
                            "type": "hidden", "name": "form",
                            "value": DashboardAccess.formToken(id),
                        ])
                    html.element("label") { html in
                        html.text("Token ")
                        html.element(
                            "input",
                            [
                                "type": "password", "name": "token", "required": "",
                                "autocomplete": "current-password",
                            ])
                    }
                    html.element("button", ["type": "submit"], text: "Sign in")
                }
            }
        }
        var response = Self.response(status, "text/html; charset=utf-8", html.bytes)
        response.headers[.setCookie] = Self.cookie(DashboardAccess.formCookie, id, asked.isSecure)
        return response
    }

    static func cookie(_ name: String, _ value: String, _ isSecure: Bool) -> String {
        "\(name)=\(value); Path=/; HttpOnly; SameSite=Strict\(isSecure ? "; Secure" : "")\(value.isEmpty ? "; Max-Age=0" : "")"
    }
}
