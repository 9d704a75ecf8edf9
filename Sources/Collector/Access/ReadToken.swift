import JSON

/// The data that a token's holder may read in the dashboard, and the expiry.
package struct ReadToken: Equatable, Sendable {
    /// The signed use: a token of another use is not valid for this one.
    static let use = "r"

    /// Shows only rows with these values, by column; empty for all rows.
    package var conditions: [Condition]
    /// The token expires at this second since 1970.
    package var expiresAtSeconds: Int64

    package struct Condition: Equatable, Sendable {
        package var column: String
        package var value: String

        package init(column: String, value: String) {
            self.column = column
            self.value = value
        }
    }

    package init(conditions: [Condition], expiresAtSeconds: Int64) {
        self.conditions = conditions
        self.expiresAtSeconds = expiresAtSeconds
    }

    /// The signed text.
    var payload: String {
        var json = JSONText()
        json.object { json in
            json.member("x", expiresAtSeconds)
            json.object("w") { json in
                for condition in conditions { json.member(condition.column, condition.value) }
            }
        }
        return json.text
    }

    /// Reads the payload of a token. The errors are for the signer.
    init(_ payload: JSONValue) throws(TokenFault) {
        guard payload.isObject, case .exact(let expiry)? = payload.member("x")?.number?.asInteger
        else {
            throw .bad("x of the token, its end, is no whole number of seconds since 1970")
        }
        guard let wanted = payload.member("w"), wanted.isObject else {
            throw .bad("w of the token, what it is limited to, is no object")
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
        guard isText else { throw .bad("a value in w of the token is no text") }
        self.init(conditions: conditions, expiresAtSeconds: expiry)
    }
}
