/// An auction whose one bid keeps every rule: SKAdNetwork 4.0, with an overlay whose clicks count.
enum Auction {
    static let valid: Document = [
        "request": [
            "id": "a",
            "imp": [
                [
                    "id": "1", "instl": 1, "displaymanager": "HyBid", "displaymanagerver": "3.1.0",
                    "ext": [
                        "skadn": [
                            "versions": ["2.0", "2.1", "2.2", "3.0", "4.0"], "sourceapp": "11",
                            "skadnetids": ["net.skadnetwork"], "skoverlay": ["present", "click"],
                        ]
                    ],
                ]
            ],
            "app": ["bundle": "11"],
            "device": ["os": "iOS", "osv": "17.5.1"],
        ],
        "response": [
            "cur": "EUR",
            "seatbid": [
                [
                    "seat": "acme",
                    "bid": [
                        [
                            "id": "b", "impid": "1", "price": 4.35,
                            "ext": [
                                "skadn": [
                                    "version": "4.0", "network": "Net.SKAdNetwork",
                                    "sourceidentifier": "0239", "campaign": "45",
                                    "itunesitem": "22", "sourceapp": "11",
                                    "fidelities": [
                                        [
                                            "fidelity": 1, "nonce": "n", "timestamp": "1",
                                            "signature": "s",
                                        ]
                                    ],
                                    "nonce": "n", "timestamp": 1, "signature": "s",
                                    "skoverlay": ["present": 1, "click": 1],
                                ]
                            ],
                        ]
                    ],
                ]
            ],
        ],
    ]

    static let imp = "request.imp.0"
    static let bid = "response.seatbid.0.bid.0"
    static let offer = "request.imp.0.ext.skadn"
    static let skadn = "response.seatbid.0.bid.0.ext.skadn"

    static func without(_ path: String) -> Document { valid.with([path: nil]) }

    static func with(_ changes: KeyValuePairs<String, Document?>) -> Document {
        valid.with(changes)
    }
}

/// Records of Outbrain that are right.
enum Outbrain {
    /// An answer as it came: a paid recommendation that was bought in an auction, and one that is not paid.
    static let recommendations: Document = [
        "request": ["widget_id": "SDK_1", "widget_index": 0],
        "response": [
            "response": [
                "request": ["req_id": "r", "idx": "0"],
                "documents": [
                    "total_count": 2, "count": 2,
                    "doc": [
                        [
                            "pc_id": 774, "pc_cmp_id": 90120, "pos": "0",
                            "disclosure": [
                                "icon": "https://example.com/i.png", "url": "https://example.com/",
                            ],
                            "sk_adnetwork_data": [
                                "ad_network_id": "97R2b46745.skadnetwork", "campaign_id": "12",
                                "itunes_item_id": "525463029", "source_app_id": 880_047_117,
                            ],
                        ],
                        ["pos": "1", "orig_url": "https://example.com/42"],
                    ],
                ],
            ]
        ],
    ]

    static let answer = "response.response"
    static let document = "response.response.documents.doc.0"

    static func with(_ changes: KeyValuePairs<String, Document?>) -> TestRecord {
        TestRecord(recommendations.with(changes), type: "outbrain.recommendations")
    }

    /// A record of listings of the request `r` at these positions.
    static func listings(
        _ positions: Document..., elapsed: Int64 = 1, request: String = "r"
    ) -> TestRecord {
        let listings = positions.map { position in
            [
                "request_id": .string(request), "position": position,
                "time_elapsed_ms": .raw("\(elapsed)"),
            ] as Document
        }
        return TestRecord(
            ["widget_id": "w", "widget_index": 0, "listings": .array(listings)] as Document,
            type: "outbrain.listings_viewed")
    }

    /// A click on a paid recommendation.
    static let click: Document = [
        "request_id": "r", "position": "0", "widget_id": "w", "widget_index": 0, "paid": true,
        "url": "https://paid.outbrain.com/network/redir?p=abc",
    ]

    static func click(_ changes: KeyValuePairs<String, Document?>) -> TestRecord {
        TestRecord(click.with(changes), type: "outbrain.click")
    }
}
