import JSON

/// The data that a token's holder may read in the dashboard, and the expiry.
package struct ReadToken: Equatable, Sendable {
    /// The claim `aud`; tokens with another audience are invalid.
    package static let audience = "dashboard"
    /// The use in the signature of a token in the form before JWT.
    static let oldUse = "r"

    /// Shows only rows with these values, by column; empty for all rows.
    package var conditions: [Condition]
    /// The token expires at this second since 1970.
    package var expiresAtSeconds: Int64
    /// Who may also act, for example retry deliveries; nil for a token that only reads.
    package var actor: Actor?

    /// The holder of an operator's token, as in the log of actions.
    package struct Actor: Equatable, Sendable {
        package var name: String
        /// Distinguishes tokens with the same name.
        package var tokenID: String

        package init(name: String, tokenID: String) {
            self.name = name
            self.tokenID = tokenID
        }
    }

    package struct Condition: Equatable, Sendable {
        package var column: String
        package var value: String

        package init(column: String, value: String) {
            self.column = column
            self.value = value
        }
    }

    package init(conditions: [Condition], expiresAtSeconds: Int64, actor: Actor? = nil) {
        self.conditions = conditions
        self.actor = actor
        self.expiresAtSeconds = expiresAtSeconds
    }

    /// The claims that are signed.
    var payload: String {
        var json = JSONText()
        json.object { json in
            json.member("aud", Self.audience)
            json.member("exp", expiresAtSeconds)
            if let actor {
                json.member("sub", actor.name)
                json.member("jti", actor.tokenID)
                json.member("operate", true)
            }
            json.object("where") { json in
                for condition in conditions { json.member(condition.column, condition.value) }
            }
        }
        return json.text
    }

    /// Reads the payload of a token. The errors are for the signer.
    init(_ payload: JSONValue, _ names: TokenClaims) throws(TokenFault) {
        let expiry = try names.expirySeconds(of: payload)
        guard let wanted = payload.member(names.conditions), wanted.isObject else {
            throw .bad("\(names.conditions) of the token, its limits, is not an object")
        }
        if let name = wanted.repeatedName {
            throw .bad("\(names.conditions) of the token has \(name) twice: keep one")
        }
        var conditions: [Condition] = []
        var isText = true
        wanted.forEachMember { name, value in
            guard let text = value.text else {
                isText = false
                return
            }
            conditions.append(
                Condition(column: String(decoding: name, as: UTF8.self), value: text))
        }
        guard isText else {
            throw .bad("a value in \(names.conditions) of the token is not a text")
        }
        self.init(
            conditions: conditions, expiresAtSeconds: expiry,
            actor: try Self.actor(payload, isLimited: !conditions.isEmpty))
    }

    /// Throws for a token that may act but does not name its holder, or that sees only some rows.
    private static func actor(
        _ payload: JSONValue, isLimited: Bool
    ) throws(TokenFault) -> Actor? {
        guard let operates = payload.member("operate") else { return nil }
        guard let mayAct = operates.boolean else {
            throw .bad("operate of the token is neither true nor false")
        }
        guard mayAct else { return nil }
        guard let name = payload.member("sub")?.text, !name.isEmpty,
            let id = payload.member("jti")?.text, !id.isEmpty
        else { throw .bad("an operator's token needs sub, its holder, and jti, its id") }
        guard !isLimited else {
            throw .bad("an operator's token cannot be limited by where: actions concern all rows")
        }
        return Actor(name: name, tokenID: id)
    }
}
