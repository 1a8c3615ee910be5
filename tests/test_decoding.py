from __future__ import annotations

import numpy as np
import pytest
from decode_runs import summarize

from data.store import TokenStore, open_store
from decoding import Options, Summarizer


def by_parts(golden, extractor: str | None, abstractor: str | None, **options):
    store = open_store(golden / "data", "test")
    models = [golden / name if name else None for name in (extractor, abstractor)]
    summarizer = Summarizer.from_parts(models[0], models[1], Options(**options))
    return list(summarizer.summarize(store, np.arange(len(store))))


def sources(summary) -> list[int]:
    return [sentence.source for sentence in summary.sentences]


def test_agents_extract_what_the_released_ones_do_and_fall_back_on_the_first_five(golden, expected):
    articles = expected["articles"]
    assert sum(article["fallback_first5"] for article in articles) > 0
    for summary, article in zip(summarize(golden, "rl"), articles, strict=True):
        assert sources(summary) == article["rewritten_indices"]
        assert (summary.sentences[0].extraction_score is None) == article["fallback_first5"]


def test_an_agent_without_abstractor_copies_sentences(golden, expected):
    store = open_store(golden / "data", "test")
    for summary, article in zip(summarize(golden, "rl_ext_only"), expected["articles"], strict=True):
        n = len(store.articles.sentence_range(summary.article))
        chosen = [i for i in article["rl_ext_only_raw"] if i < n]
        assert sources(summary) == (chosen or list(range(min(5, n))))
        first = summary.sentences[0]
        assert first.words == [store.lexicon[w] for w in store.articles.document(summary.article)[sources(summary)[0]]]
        assert first.rewriting_score is None and first.copied is None


def test_baselines_equal_the_released_ones(golden, expected):
    articles = expected["articles"]
    cases = [
        ("lead3_abs", by_parts(golden, None, "abs", n_sentences=3)),
        ("lead6_abs", by_parts(golden, None, "abs")),
        ("ext_rnn6_abs", by_parts(golden, "ext_rnn", "abs")),
    ]
    for name, found in cases:
        assert [summary.lines() for summary in found] == [article[name] for article in articles]
    rnn = by_parts(golden, "ext_rnn", None)
    assert [sources(summary) for summary in rnn] == [article["ext_rnn_extract"] for article in articles]
    ff = by_parts(golden, "ext_ff", None)
    assert [sources(summary) for summary in ff] == [article["ext_ff_top6_set"] for article in articles]
    for summary, article in zip(ff, articles, strict=True):
        scores = [sentence.extraction_score for sentence in summary.sentences]
        assert scores == pytest.approx([article["ext_ff_logits"][i] for i in sources(summary)], abs=1e-4)


def test_scores_of_the_extraction_are_log_probabilities_of_the_choices(golden, expected):
    for name, field in (("rl", "rl_scores"), ("ext_rnn", "ext_rnn_scores")):
        found = summarize(golden, "rl") if name == "rl" else by_parts(golden, "ext_rnn", None)
        for summary, article in zip(found, expected["articles"], strict=True):
            for sentence, row in zip(summary.sentences, article[field], strict=False):
                if sentence.extraction_score is not None:
                    logits = np.array([-np.inf if x is None else x for x in row])
                    wanted = logits[sentence.source] - np.log(np.exp(logits).sum())
                    assert sentence.extraction_score == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize("model", ["rl", "rl_ext_only"])
@pytest.mark.parametrize("n", [1, 3, 50])
def test_any_fixed_number_of_sentences(golden, model, n):
    store = open_store(golden / "data", "test")
    for summary in summarize(golden, model, n_sentences=n):
        chosen = sources(summary)
        assert len(chosen) == len(set(chosen)) == min(n, len(store.articles.sentence_range(summary.article)))


def test_fixing_the_number_that_the_agent_chose_changes_nothing(golden):
    free = summarize(golden, "rl_ext_only")
    fixed = summarize(golden, "rl_ext_only", n_sentences=3)
    same = [(a, b) for a, b in zip(free, fixed, strict=True) if a.sentences[0].extraction_score is not None]
    assert same
    for a, b in same:
        shorter = min(len(a.sentences), len(b.sentences))
        assert sources(a)[:shorter] == sources(b)[:shorter]


@pytest.mark.parametrize("beam", [1, 3])
def test_batch_invariant_output_does_not_depend_on_the_batch(golden, beam):
    store = open_store(golden / "data", "test")
    summarizer = {
        batch: Summarizer.from_agent(golden / "rl", Options(beam=beam, batch=batch, batch_invariant=True))
        for batch in (1, 7, 32)
    }
    together = [s.lines() for s in summarizer[32].summarize(store, np.arange(30))]
    assert [s.lines() for s in summarizer[7].summarize(store, np.arange(30))] == together
    alone = [next(iter(summarizer[1].summarize(store, np.array([i])))).lines() for i in range(30)]
    assert alone == together
    backwards = [s.lines() for s in summarizer[32].summarize(store, np.arange(30)[::-1])]
    assert backwards[::-1] == together


def test_copied_words_stand_in_the_source_sentence(golden):
    store = open_store(golden / "data", "test")
    for summary in summarize(golden, "rl"):
        document = store.articles.document(summary.article)
        for sentence in summary.sentences:
            assert sentence.copied is not None and sentence.replaced is not None and sentence.source is not None
            assert len(sentence.copied) == len(sentence.replaced) == len(sentence.words)
            own = {store.lexicon[word] for word in document[sentence.source]}
            taken = (sentence.copied > 0) | sentence.replaced
            assert {word for word, is_taken in zip(sentence.words, taken, strict=True) if is_taken} <= own


WORDS = [f"{syllable}{n}" for syllable in ("ba", "mo", "zu") for n in range(40)]


def article(random, n_sentences: int, n_words: int = 8) -> list[str]:
    return [" ".join(random.choice(WORDS, n_words)) for _ in range(n_sentences)]


@pytest.mark.parametrize("beam", [1, 5])
def test_extreme_articles_are_summarised(golden, beam):
    random = np.random.default_rng(0)
    articles = [
        [],
        ["word"],
        [""],
        ["", "one two", ""],
        ["\u4f60\u597d \U0001f600 \u0000 \ufffd <unk> <pad> <start> <end> PAD GO"],
        [" ".join(random.choice(WORDS, 2000)), "short one"],
        article(random, 400, 3),
        ["same words again"] * 12,
    ]
    found = Summarizer.from_agent(golden / "rl", Options(beam=beam)).summarize_texts(articles)
    assert [summary.article for summary in found] == list(range(len(articles)))
    assert [len(summary.sentences) > 0 for summary in found] == [bool(text) for text in articles]
    for summary, text in zip(found, articles, strict=True):
        assert all(0 <= i < len(text) for i in sources(summary))
    assert not found[2].sentences[0].words
    every = Summarizer.from_agent(golden / "rl", Options(beam=beam, n_sentences=400)).summarize_texts(articles)
    assert len(every[6].sentences) == 400


@pytest.mark.slow
def test_five_thousand_sentences_and_many_short_articles(golden):
    random = np.random.default_rng(1)
    summarizer = Summarizer.from_agent(golden / "rl", Options(beam=2))
    (long,) = summarizer.summarize_texts([article(random, 5000)])
    assert long.sentences
    many = summarizer.summarize_texts([article(random, int(n), 3) for n in random.integers(1, 4, 3000)])
    assert len(many) == 3000 and all(summary.sentences for summary in many)


def test_texts_give_the_same_as_a_store(golden):
    store = open_store(golden / "data", "test")
    texts = [[" ".join(store.lexicon[w] for w in s) for s in store.articles.document(i)] for i in range(10)]
    summarizer = Summarizer.from_agent(golden / "rl", Options())
    from_texts = [s.lines() for s in summarizer.summarize_texts(texts)]
    assert from_texts == [s.lines() for s in summarizer.summarize(store, np.arange(10))]


def test_words_of_the_vocabulary_that_the_text_lacks_can_be_generated(golden):
    """The store of a short text knows only its own words."""
    store = open_store(golden / "data", "test")
    texts = [[" ".join(store.lexicon[w] for w in s) for s in store.articles.document(i)] for i in range(30)]
    summarizer = Summarizer.from_agent(golden / "rl", Options(batch_invariant=True))
    small = [next(iter(summarizer.summarize(TokenStore.from_texts([text]), np.array([0])))) for text in texts]
    large = list(summarizer.summarize(store, np.arange(30)))
    assert [s.lines() for s in small] == [s.lines() for s in large]
