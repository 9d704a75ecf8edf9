import ConversionModels
import Streams

/// A request of an app or its server about one install.
package struct ConversionRequest: Equatable, Sendable {
    package enum Kind: String, Codable, Sendable {
        /// `GET /v1/conversion_value`: the device requests its next value.
        case conversionValue = "conversion_value"
        /// `POST /v1/launch`: a server reports a session.
        case launch
        /// `POST /v1/event`: a server reports an event.
        case event
    }

    enum Framework: String, Codable, CaseIterable, Sendable {
        case skAdNetwork = "skadnetwork"
        case adAttributionKit = "adattributionkit"
    }

    /// The subject of conversion values: an install, or a single return of its owner to the app through an ad.
    enum Conversion: Hashable, Sendable {
        case install
        /// In AdAttributionKit. Each tag has its own windows; the tag is empty if the app sends none.
        case reengagement(tag: String)
    }

    /// The clients' name of a session event.
    package static let session = "__SESSION__"

    var kind: Kind
    /// The client's id of the update, unchanged in a repeated request.
    var updateID: String?
    /// Vendor id (idfv), 1 to 128 bytes; UUIDs in capitals.
    var installID: String
    package var appID: Int64
    var bundleID: String?
    var appVersion: String?
    var framework: Framework
    var conversion = Conversion.install
    /// The client supports three windows.
    var hasThreeWindows: Bool
    var event: String
    /// Total revenue of the install so far by currency, in micros, 0 or more.
    var totalRevenueMicros: [String: Int64]
    /// First call to the framework, in milliseconds since 1970.
    var firstCallMilliseconds: Int64?
    /// Latest call to the framework, in milliseconds since 1970.
    var lastCallMilliseconds: Int64?
    /// The install's present fine value, 0...63; nil for none.
    var fine: Int?
    /// The install's present coarse values by window.
    var coarse: [CoarseValue?]
    /// Whether each window is locked.
    var locks: [Bool]
    /// The framework's error at the latest call; 0 for none.
    var error: Int64
}

extension ConversionRequest {
    var install: InstallKey {
        InstallKey(
            appID: appID, installID: installID, framework: framework, conversion: conversion)
    }

    /// The tag of a re-engagement that has one.
    var conversionTag: String? {
        if case .reengagement(let tag) = conversion, !tag.isEmpty { tag } else { nil }
    }

    /// Reads the parameters of the guide for SKAdNetwork 3 and those of SKAdNetwork 4. It ignores an advertising
    /// identifier (`idfa`).
    ///
    /// Throws `missing_field`, `wrong_type` and `out_of_range`.
    ///
    /// - Parameter nowMilliseconds: times of calls may be up to a day after it.
    package init(
        _ kind: Kind, _ parameters: ConversionParameters, apps: ConversionApps,
        nowMilliseconds: Int64
    ) throws(Rejection) {
        self.kind = kind
        installID = try parameters.installID()
        appID = try apps.app(parameters)
        updateID = try parameters.text("update_id", atMost: 128)
        bundleID = try parameters.text("i", atMost: 255)
        appVersion = try parameters.text("app_v", atMost: 64)
        framework = try parameters.framework()
        conversion = try parameters.conversion(of: framework)
        event = try parameters.event(of: kind)
        totalRevenueMicros = try RevenueTotals.micros(parameters["total_revenue_by_currency"])
        let latest = nowMilliseconds + ConversionWindows.dayMilliseconds
        firstCallMilliseconds = try parameters.call(
            "first_call_to_skadnetwork_timestamp", "skan_first_call_to_skadnetwork_timestamp",
            "skan_first_call_timestamp", latest: latest)
        lastCallMilliseconds = try parameters.call(
            "last_call_to_skadnetwork_timestamp", "skan_last_call_to_skadnetwork_timestamp",
            "skan_last_call_timestamp", latest: latest)
        let current = try parameters.fine(
            "conversion_value", "skan_current_conversion_value", "skan_conversion_value")
        let previous = try parameters.fine("prev_fine_value")
        fine = [current, previous].compactMap { $0 }.max()
        var coarse: [CoarseValue?] = []
        var locks: [Bool] = []
        for index in 0...2 {
            coarse.append(try parameters.coarse("p\(index)_coarse"))
            locks.append(try parameters.boolean("p\(index)_window_lock"))
        }
        self.coarse = coarse
        self.locks = locks
        error = try parameters.error()
        hasThreeWindows = framework == .adAttributionKit || parameters.speaksOfThreeWindows
    }
}

extension ConversionParameters {
    fileprivate func installID() throws(Rejection) -> String {
        guard let text = try text("idfv", atMost: 128) else {
            throw Rejection(.missingField, "idfv is missing")
        }
        guard text.utf8.contains(where: { $0 != UInt8(ascii: "0") && $0 != UInt8(ascii: "-") })
        else { throw Rejection(.outOfRange, "idfv is all zeros and identifies no install") }
        let isUUID =
            text.utf8.count == 36
            && text.utf8.allSatisfy {
                $0 == UInt8(ascii: "-") || Character(Unicode.Scalar($0)).isHexDigit
            }
        return isUUID ? text.uppercased() : text
    }

    fileprivate func framework() throws(Rejection) -> ConversionRequest.Framework {
        guard let text = self["framework"] else { return .skAdNetwork }
        guard let framework = ConversionRequest.Framework(rawValue: text) else {
            throw Rejection(.outOfRange, "framework is neither skadnetwork nor adattributionkit")
        }
        return framework
    }

    /// A tag without a type belongs to a re-engagement: installs do not have tags.
    fileprivate func conversion(
        of framework: ConversionRequest.Framework
    ) throws(Rejection) -> ConversionRequest.Conversion {
        let tag = try text("conversion_tag", atMost: 255)
        switch self["conversion_type"] {
        case "install":
            guard tag == nil else {
                throw Rejection(
                    .outOfRange,
                    "conversion_tag belongs to a re-engagement, but conversion_type is install")
            }
            return .install
        case nil where tag == nil: return .install
        case nil, "re-engagement":
            guard framework == .adAttributionKit else {
                throw Rejection(
                    .outOfRange,
                    "re-engagements exist only in AdAttributionKit: give framework=adattributionkit"
                )
            }
            return .reengagement(tag: tag ?? "")
        default:
            throw Rejection(
                .outOfRange, "conversion_type is neither install nor re-engagement")
        }
    }

    fileprivate func event(of kind: ConversionRequest.Kind) throws(Rejection) -> String {
        let name = try text("n", atMost: 255)
        if kind == .event, name == nil { throw Rejection(.missingField, "n is missing") }
        return kind == .launch ? ConversionRequest.session : name ?? ConversionRequest.session
    }

    fileprivate func text(_ name: String, atMost bytes: Int) throws(Rejection) -> String? {
        guard let text = self[name] else { return nil }
        guard text.utf8.count <= bytes else {
            throw Rejection(.outOfRange, "\(name) is longer than \(bytes) bytes")
        }
        guard text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
            throw Rejection(.outOfRange, "\(name) has control characters")
        }
        return text
    }

    private func integer(_ name: String, _ text: String) throws(Rejection) -> Int64 {
        guard let number = Int64(text) else {
            throw Rejection(.wrongType, "\(name) is not a whole number")
        }
        return number
    }

    /// Reads seconds since 1970, returns milliseconds. 0 means no call.
    fileprivate func call(_ names: String..., latest: Int64) throws(Rejection) -> Int64? {
        for name in names {
            guard let text = self[name] else { continue }
            let seconds = try integer(name, text)
            if seconds == 0 { return nil }
            guard seconds >= Self.firstSecond, seconds <= latest / 1000 else {
                throw Rejection(
                    .outOfRange,
                    "\(name) is not a plausible time of a call: write seconds since 1970")
            }
            return seconds * 1000
        }
        return nil
    }

    /// The start of 2018, the year of SKAdNetwork's release.
    private static let firstSecond: Int64 = 1_514_764_800

    func fine(_ names: String...) throws(Rejection) -> Int? {
        for name in names {
            guard let text = self[name] else { continue }
            let value = try integer(name, text)
            guard (0...63).contains(value) else {
                throw Rejection(.outOfRange, "\(name) is outside 0..63")
            }
            return Int(value)
        }
        return nil
    }

    fileprivate func coarse(_ name: String) throws(Rejection) -> CoarseValue? {
        guard let text = self[name] else { return nil }
        if let value = CoarseValue(rawValue: text) { return value }
        let number = try integer(name, text)
        guard let value = CoarseValue.allCases.first(where: { $0.rank == number }) else {
            throw Rejection(.outOfRange, "\(name) is outside 0..2")
        }
        return value
    }

    fileprivate func boolean(_ name: String) throws(Rejection) -> Bool {
        switch self[name] {
        case nil, "0", "false": false
        case "1", "true": true
        default: throw Rejection(.wrongType, "\(name) is neither true nor false")
        }
    }

    fileprivate func error() throws(Rejection) -> Int64 {
        guard let text = self["_skerror"] else { return 0 }
        return try integer("_skerror", text)
    }

    /// Whether any of SKAdNetwork 4's parameters is present, even empty.
    fileprivate var speaksOfThreeWindows: Bool {
        [
            "skan_first_call_to_skadnetwork_timestamp", "skan_last_call_to_skadnetwork_timestamp",
            "skan_current_conversion_value", "prev_fine_value", "p0_coarse", "p1_coarse",
            "p2_coarse", "p0_prev_coarse_value", "p1_prev_coarse_value", "p2_prev_coarse_value",
            "p0_window_lock", "p1_window_lock", "p2_window_lock",
        ].contains(where: has)
    }
}
